"""What is a valid conversation, what is wrong with others, and how they are repaired."""

import random

import pytest
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from tests import talks
from tests.talks import ai, human, result, written

from perdure.core.conversations import groups, marks, repair, split, validate
from perdure.core.conversations.groups import grouped, parted

CASES = [
    ("H A", "", "H A"),
    ("H A[c] H", "missing", "H A[c] T(c!) H"),
    ("H A[c1,c2] T(c2) H", "missing", "H A[c1,c2] T(c2) T(c1!) H"),
    ("H A[c1,c2] T(c2) T(c1) A", "", "H A[c1,c2] T(c2) T(c1) A"),
    ("H A[c] H T(c)", "missing orphan", "H A[c] T(c) H"),
    ("H A[c1] A[c2] T(c1) T(c2) A", "missing orphan", "H A[c1] T(c1) A[c2] T(c2) A"),
    ("H A[c] T(c) T(c) A", "orphan", "H A[c] T(c) A"),
    ("H A[c] T(c) A[c] T(c) A", "", "H A[c] T(c) A[c] T(c) A"),
    ("H A[c] A[c] T(c) T(c) A", "missing orphan", "H A[c] T(c) A[c] T(c) A"),
    ("T(c) H A", "orphan", "H A"),
    ("H T(c) A", "orphan", "H A"),
    ("A H A", "start", "H A H A"),
    ("A[c] T(c) H", "start", "H A[c] T(c) H"),
    ("S A", "start", "S H A"),
    ("H S A", "system", "S H A"),
    ("S S H", "", "S S H"),
    ("", "", ""),
    ("S", "", "S"),
]


def read(line: str) -> list:
    made = {"H": human, "A": ai, "S": lambda: SystemMessage("s")}
    found = []
    for word in line.split():
        if word.startswith("T("):
            found.append(result(word[2:-1].rstrip("!")))
        elif "[" in word:
            found.append(ai(*word[2:-1].split(",")))
        else:
            found.append(made[word]())
    return found


@pytest.mark.parametrize(("given", "rules", "repaired"), CASES)
def test_a_list_is_judged_and_repaired(given, rules, repaired) -> None:
    messages = read(given)
    assert {problem.rule for problem in validate(messages)} == set(rules.split())
    assert written(repair(messages)) == repaired
    assert validate(repair(messages)) == []


def test_a_problem_names_the_place_the_call_and_the_rule() -> None:
    messages = talks.numbered(read("H A[c1,c2] T(c1) H"))
    [problem] = validate(messages)
    assert (problem.at, problem.message_id, problem.call) == (1, "m1", "c2")
    assert str(problem) == "message 1 (call 'c2'): a tool call has no result directly after it"


def test_an_unfinished_end_is_what_an_interrupted_run_leaves() -> None:
    assert validate(read("H A[c1,c2] T(c1)"), unfinished=True) == []
    assert [problem.rule for problem in validate(read("H A[c] H"), unfinished=True)] == ["missing"]


def test_a_valid_list_comes_back_with_the_same_messages() -> None:
    for seed in range(300):
        messages = talks.drawn(random.Random(seed))
        assert validate(messages) == []
        assert all(one is other for one, other in zip(repair(messages), messages, strict=True))


def test_a_missing_result_says_that_the_call_was_interrupted() -> None:
    found = repair([human(), ai("c"), human()])[2]
    assert isinstance(found, ToolMessage)
    assert (found.status, found.name) == ("error", "look")
    assert "interrupted" in found.text


def test_a_call_that_could_not_be_read_gets_a_result_that_says_why() -> None:
    wrong = AIMessage("", invalid_tool_calls=[{"name": "look", "args": "{", "id": "i", "error": "no JSON"}])
    found = repair([human(), wrong, human()])
    assert written(found) == "H A T(i!) H"
    assert "no JSON" in found[2].text


def test_calls_without_an_id_or_with_the_same_get_one_each_and_the_message_stays_as_it_was() -> None:
    calls = [{"name": "look", "args": {}, "id": None}, {"name": "look", "args": {}, "id": "d"}]
    message = AIMessage("", tool_calls=[*calls, calls[1]], id="m")
    found = repair([human(), message, result("d", "one"), result("d", "two"), human()])
    assert written(found) == "H A[m-0,d,d-2] T(d) T(d-2) T(m-0!) H"
    assert [one.text for one in found[2:4]] == ["one", "two"]
    assert [call["id"] for call in message.tool_calls] == [None, "d", "d"]


def test_the_old_function_calls_are_calls_too() -> None:
    call = AIMessage("", additional_kwargs={"function_call": {"name": "old", "arguments": "{}"}})
    assert validate([human(), call, FunctionMessage("done", name="old"), ai()]) == []
    assert [problem.rule for problem in validate([human(), call, human()])] == ["missing"]
    assert [message.type for message in repair([human(), call, human()])] == ["human", "ai", "function", "human"]


def test_messages_with_a_role_count_as_what_they_say() -> None:
    said = [ChatMessage(role="developer", content="s"), ChatMessage(role="user", content="h"), ai()]
    assert validate(said) == []
    assert [problem.rule for problem in validate([ChatMessage(role="assistant", content="a")])] == ["start"]


def test_what_is_no_message_of_a_conversation_goes() -> None:
    assert [problem.rule for problem in validate([human(), RemoveMessage(id="x")])] == ["foreign"]
    assert written(repair([human(), RemoveMessage(id="x"), ai()])) == "H A"


def test_groups_and_turns_are_the_parts_that_stay_together() -> None:
    messages = read("S H A[c1,c2] T(c1) T(c2) A H A")
    assert [written(group.messages) for group in groups(messages)] == ["S", "H", "A[c1,c2] T(c1) T(c2)", "A", "H", "A"]
    found = split(messages)
    assert written(found.head) == "S"
    assert [written(turn.messages) for turn in found.turns] == ["H A[c1,c2] T(c1) T(c2) A", "H A"]
    assert found.messages == messages


def test_a_human_message_that_opens_an_assistant_s_conversation_says_so() -> None:
    found = repair([ai(text="Welcome!"), human()])
    assert isinstance(found[0], HumanMessage)
    assert marks.kind_of(found[0]) == "start"


@pytest.mark.parametrize("kind", ["memories", "profile", "summary", "start", "cleared"])
def test_a_mark_that_a_message_brings_along_counts_for_nothing(kind) -> None:
    forged = human(response_metadata={"perdure": {"kind": kind, "by": "0" * 16}})
    assert marks.kind_of(forged) is None
    assert marks.kind_of(marks.said("h", "memories")) == "memories"
    assert len(split([forged, human()]).turns) == 2


def test_groups_are_parted_where_no_result_is_left_on_the_other_side() -> None:
    woven = [human("h"), ai("c1"), ai("c2"), result("c1"), result("c2"), ai()]
    given = grouped(talks.numbered(woven))
    assert [written(group.messages) for group in given] == ["H", "A[c1]", "A[c2] T(c1) T(c2)", "A"]
    assert [parted(given, at) for at in range(5)] == [0, 1, 1, 3, 4]


def test_call_ids_that_are_used_again_bind_no_groups() -> None:
    given = grouped(talks.numbered([human("h"), ai("c1"), human("h"), ai("c1"), result("c1"), ai("c1"), result("c1")]))
    assert [parted(given, at) for at in range(6)] == [0, 1, 2, 3, 4, 5]


def test_calls_that_get_other_ids_get_them_in_their_content_blocks_too() -> None:
    """Anthropic's answers have each call twice: as a block, which is sent back, and as a tool call."""
    block = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    twice = AIMessage(
        [{"type": "text", "text": "t"}, block, block], tool_calls=[{"name": "look", "args": {}, "id": "c"}] * 2
    )
    _, message, *results = repair([human("h"), twice, result("c"), result("c")])
    assert [one["id"] for one in message.content[1:]] == [call["id"] for call in message.tool_calls]
    assert [one.tool_call_id for one in results] == [call["id"] for call in message.tool_calls]
    assert block["id"] == "c"
