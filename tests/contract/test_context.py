"""What of a conversation reaches the model of a real agent, on each engine, in both styles, streamed too."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import after_agent
from langchain.tools import tool
from langchain_core.messages import AIMessage, RemoveMessage, SystemMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from tests import talks
from tests.models import RecordingModel, calling
from tests.talks import written

from perdure import errors
from perdure.core.conversations import approximate, validate
from perdure.middleware import (
    ClearToolResults,
    ContextBudget,
    clear_tool_results,
    remove,
    remove_all,
    replace,
    replace_all,
)

CONFIG = {"configurable": {"thread_id": "t"}}


@tool
def look(at: int = 0) -> str:
    """Look somewhere."""
    return f"seen {at}"


@tool
def read(size: int) -> str:
    """Read something long."""
    return "x" * size


@tool
def stop() -> str:
    """Stop the process, as a person does who presses control and C."""
    raise KeyboardInterrupt


@tool
def fail() -> str:
    """Fail."""
    raise RuntimeError("the tool fell over")


def turns(count: int) -> list[AIMessage]:
    """Return what a model says in so many turns: two calls at once, then one, then an answer."""
    said = []
    for at in range(count):
        pair = [{"name": "look", "args": {"at": number}, "id": f"{at}-{number}"} for number in (1, 2)]
        said += [
            AIMessage("", tool_calls=pair),
            AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": f"{at}-3"}]),
            AIMessage(f"answer {at}"),
        ]
    return said


def agent_of(memory, model, *middleware, tools=(look,), **more):
    return create_agent(model, list(tools), middleware=middleware, checkpointer=memory.checkpointer, **more)


def asked(text):
    return {"messages": [("user", text)]}


def states(messages):
    """Return what the state held at each model call, from what it holds after the last."""
    return [messages[:at] for at, message in enumerate(messages) if message.type == "ai"]


def plain(messages):
    return [(message.type, message.text, getattr(message, "tool_call_id", None)) for message in messages]


def cut_by_hand(messages, room):
    """Return what the rule of the budget leaves, counted in messages: the oracle of the tests below."""
    starts = [at for at, message in enumerate(messages) if message.type == "human"]
    last = messages[starts[-1] :]
    whole = [start for start in starts if len(messages) - start <= room]
    if whole:
        return messages[whole[0] :]
    parts: list = []
    for message in last[1:]:
        parts.append([message]) if message.type == "ai" else parts[-1].append(message)
    kept = parts[-1:]
    while len(kept) < len(parts) and sum(map(len, [parts[-len(kept) - 1], *kept])) + 1 <= room:
        kept.insert(0, parts[-len(kept) - 1])
    return [last[0], *(message for part in kept for message in part)]


@pytest.mark.parametrize("room", [1, 3, 5, 8, 14, 20, 100])
def test_each_request_of_a_long_conversation_is_what_the_rule_says_and_the_state_keeps_all(
    memory, styled, room
) -> None:
    model = RecordingModel(script=turns(6))
    agent = styled(
        agent_of(memory, model, ContextBudget(room, token_counter=lambda messages: sum(1 for _ in messages)))
    )
    # Tools count too, by the default counter; so the tool's tokens are added to the room.
    overhead = ContextBudget(1)._tools.count([look])
    agent = styled(agent_of(memory, model, ContextBudget(room + overhead, token_counter=len)))
    for at in range(6):
        agent.invoke(asked(f"question {at}"), CONFIG)
    messages = memory.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"]["messages"]
    assert len(messages) == 6 * 7
    assert len(model.seen) == 18
    for shown, held in zip(model.seen, states(messages), strict=True):
        assert plain(shown) == plain(cut_by_hand(held, room))
        assert validate(shown) == []
    untrimmed = RecordingModel(script=turns(6))
    other = {"configurable": {"thread_id": "untrimmed"}}
    for at in range(6):
        full = styled(agent_of(memory, untrimmed)).invoke(asked(f"question {at}"), other)
    assert plain(full["messages"]) == plain(messages)


def test_a_stream_shows_what_was_left_out_and_ends_in_the_same_state(memory, styled) -> None:
    model = RecordingModel(script=turns(3))
    agent = styled(agent_of(memory, model, ContextBudget(max_turns=1)))
    events = []
    for at in range(3):
        events += agent.stream(asked(f"question {at}"), CONFIG, stream_mode=["custom", "messages", "values"])
    told = [event for mode, event in events if mode == "custom"]
    assert {event["perdure"] for event in told} == {"trimmed"}
    assert [event["dropped"] for event in told] == [7, 7, 7, 14, 14, 14]
    assert all(event["over"] is False for event in told)
    final = [event for mode, event in events if mode == "values"][-1]
    assert plain(final["messages"]) == plain(agent.get_state(CONFIG).values["messages"])
    assert len(final["messages"]) == 21
    assert [written(shown)[:1] for shown in model.seen] == ["H"] * 9


def test_a_request_that_is_too_large_whatever_is_left_out_is_told_and_logged(memory, styled, caplog) -> None:
    model = RecordingModel(script=["done"])
    agent = styled(agent_of(memory, model, ContextBudget(100), tools=()))
    events = agent.stream(asked("word " * 5000), CONFIG, stream_mode="custom")
    assert [(event["perdure"], event["over"], event["dropped"]) for event in events] == [("trimmed", True, 0)]
    assert written(model.seen[0]) == "H"
    assert "100" in caplog.text
    assert "word" not in caplog.text


def test_a_human_message_is_cut_where_that_was_asked_for_and_the_state_keeps_it_whole(memory, styled) -> None:
    model = RecordingModel(script=["done"])
    agent = styled(agent_of(memory, model, ContextBudget(100, oversize="cut"), tools=()))
    agent.invoke(asked("word " * 5000), CONFIG)
    [shown] = model.seen[0]
    assert approximate([shown]) <= 100
    assert "characters left out" in shown.text
    assert len(agent.get_state(CONFIG).values["messages"][0].text) == 25_000


def died(memory, model, *middleware):
    """Let a tool be ended by a person, and go on with the thread."""
    agent = agent_of(memory, model, *middleware, tools=[stop])
    with pytest.raises(KeyboardInterrupt):
        agent.invoke(asked("stop"), CONFIG)
    agent.invoke(asked("are you there?"), CONFIG)
    return agent.get_state(CONFIG).values["messages"]


def test_after_a_tool_that_died_the_model_sees_a_conversation_it_can_take(memory) -> None:
    model = RecordingModel(script=[calling("stop"), "I am back."])
    stored = died(memory, model, ContextBudget())
    assert written(model.seen[1]) == "H A[call-1] T(call-1!) H"
    assert written(stored) == "H A[call-1] H A"


def test_without_a_part_of_perdure_s_every_provider_would_refuse_that(memory) -> None:
    """A control of the test above."""
    model = RecordingModel(script=[calling("stop"), "I am back."])
    died(memory, model)
    assert [problem.rule for problem in validate(model.seen[1])] == ["missing"]


def test_after_a_tool_that_failed_the_model_sees_one_too(memory, styled) -> None:
    model = RecordingModel(script=[calling("fail"), "I am back."])
    agent = styled(agent_of(memory, model, ContextBudget(), tools=[fail]))
    with pytest.raises(RuntimeError, match="fell over"):
        agent.invoke(asked("fail"), CONFIG)
    agent.invoke(asked("are you there?"), CONFIG)
    assert written(model.seen[1]) == "H A[call-1] T(call-1!) H"


def test_interleaved_calls_reach_the_model_in_order(memory, styled) -> None:
    model = RecordingModel(script=["done"])
    agent = styled(agent_of(memory, model, ContextBudget(), tools=()))
    woven = [
        talks.human("h", id="1"),
        talks.ai("c1", id="2"),
        talks.ai("c2", id="3"),
        talks.result("c1", id="4"),
        talks.result("c2", id="5"),
        talks.ai(id="6"),
    ]
    agent.update_state(CONFIG, {"messages": woven}, as_node="model")
    agent.invoke(asked("go on"), CONFIG)
    assert written(model.seen[0]) == "H A[c1] T(c1) A[c2] T(c2) A H"


def test_system_prompt_and_system_messages_stay(memory, styled) -> None:
    model = RecordingModel(script=["one", "two"])
    agent = styled(agent_of(memory, model, ContextBudget(1), tools=(), system_prompt="Be brief."))
    agent.invoke({"messages": [SystemMessage("Rule."), ("user", "one")]}, CONFIG)
    agent.invoke(asked("two"), CONFIG)
    assert [message.text for message in model.seen[1]] == ["Be brief.", "Rule.", "two"]


def test_wrong_limits_are_refused_before_anything_runs() -> None:
    for wrong in (
        {"max_tokens": 0},
        {"max_tokens": 1.5},
        {"max_turns": True},
        {"keep": "first"},
        {"oversize": "no"},
        {"token_counter": 5},
    ):
        with pytest.raises(errors.ConfigurationError):
            ContextBudget(**wrong)


def test_the_model_s_own_limit_is_the_budget_if_none_is_named(memory) -> None:
    model = RecordingModel(script=["one", "two"], profile={"max_input_tokens": 40})
    agent = agent_of(memory, model, ContextBudget(), tools=())
    agent.invoke(asked("word " * 20), CONFIG)
    agent.invoke(asked("word " * 20), CONFIG)
    assert written(model.seen[1]) == "H"


# Edits of the state


def test_removing_and_replacing_leaves_a_conversation(memory, styled) -> None:
    model = RecordingModel(script=turns(2))
    agent = styled(agent_of(memory, model))
    for at in range(2):
        agent.invoke(asked(f"question {at}"), CONFIG)

    def messages():
        return agent.get_state(CONFIG).values["messages"]

    agent.update_state(CONFIG, {"messages": remove(messages(), messages()[1:2])})
    assert written(messages()) == "H A[0-3] T(0-3) A H A[1-1,1-2] T(1-1) T(1-2) A[1-3] T(1-3) A"
    better = messages()[0].model_copy(update={"content": "better"})
    agent.update_state(CONFIG, {"messages": replace(messages(), better)})
    assert messages()[0].text == "better"
    assert len(messages()) == 11
    agent.update_state(CONFIG, {"messages": replace_all(messages()[-7:])})
    assert written(messages()) == "H A[1-1,1-2] T(1-1) T(1-2) A[1-3] T(1-3) A"
    agent.update_state(CONFIG, {"messages": remove_all()})
    assert messages() == []
    assert validate(messages()) == []


def test_the_two_oldest_can_go_after_each_answer(memory, styled) -> None:
    @after_agent
    def forget(state, runtime):
        return {"messages": remove(state["messages"], state["messages"][:2])} if len(state["messages"]) > 4 else None

    model = RecordingModel(script=["1", "2", "3", "4"])
    agent = styled(agent_of(memory, model, forget, tools=()))
    for at in range(4):
        agent.invoke(asked(f"q{at}"), CONFIG)
    assert [message.text for message in agent.get_state(CONFIG).values["messages"]] == ["q2", "3", "q3", "4"]


def test_a_removal_of_all_by_hand_is_the_same(memory) -> None:
    assert remove_all() == [RemoveMessage(id=REMOVE_ALL_MESSAGES)]


# Tool results


def test_old_results_are_shown_as_references_that_a_tool_reads_and_the_state_keeps_them(memory, styled) -> None:
    script = [calling("read", at, size=5000 + at) for at in range(1, 4)]
    script += ["done", calling("read_tool_result", 9, reference="call-1", start=4000), "read"]
    model = RecordingModel(script=script)
    agent = styled(agent_of(memory, model, ClearToolResults(keep=1), tools=[read]))
    agent.invoke(asked("read three"), CONFIG)
    shown = [message for message in model.seen[3] if message.type == "tool"]
    assert [len(message.text) < 200 for message in shown] == [True, True, False]
    assert "5,001 characters" in shown[0].text
    agent.invoke(asked("what was in the first?"), CONFIG)
    stored = agent.get_state(CONFIG).values["messages"]
    assert [len(message.text) for message in stored if message.type == "tool"] == [5001, 5002, 5003, 1001]
    assert {tool.name for tool in model.bound[-1]} == {"read", "read_tool_result"}
    assert all(validate(shown) == [] for shown in model.seen)


def test_results_that_were_replaced_in_the_state_are_read_from_the_thread_s_history(memory, styled) -> None:
    ask = calling("read_tool_result", 9, reference="call-1")
    wrong = calling("read_tool_result", 10, reference="call-77")
    model = RecordingModel(script=[calling("read", 1, size=3000), "done", ask, wrong, "read"])
    agent = styled(agent_of(memory, model, ClearToolResults(memory), tools=[read]))
    agent.invoke(asked("read"), CONFIG)
    messages = agent.get_state(CONFIG).values["messages"]
    agent.update_state(CONFIG, {"messages": clear_tool_results(messages, keep=0)})
    assert len(agent.get_state(CONFIG).values["messages"][2].text) < 200
    agent.invoke(asked("read it again"), CONFIG)
    answers = [message for message in agent.get_state(CONFIG).values["messages"] if message.type == "tool"]
    assert answers[1].text == "x" * 3000
    assert answers[2].status == "error"
    assert "call-77" in answers[2].text


def test_a_tool_whose_calls_have_the_same_id_in_each_turn_shows_its_newest_result_and_each_can_be_read(
    memory, styled
) -> None:
    def first_result(messages):
        named = messages[2].text.partition('reference="')[2].partition('"')[0]
        return calling("read_tool_result", 9, reference=named)

    model = RecordingModel(script=[calling("read", 1, size=3001), "done", calling("read", 1, size=3002), first_result])
    agent = styled(agent_of(memory, model, ClearToolResults(keep=1), tools=[read]))
    agent.invoke(asked("read"), CONFIG)
    agent.invoke(asked("read another"), CONFIG)
    shown = [message.text for message in model.seen[3] if message.type == "tool"]
    assert ("3,001" in shown[0], len(shown[1])) == (True, 3002)
    assert model.seen[4][-1].text == "x" * 3001


def test_without_a_thread_a_reference_reads_nothing_of_a_thread_that_is_called_none(memory, styled) -> None:
    model = RecordingModel(script=[calling("read", 1, size=3000), "done"])
    told = {"configurable": {"thread_id": "None"}}
    styled(agent_of(memory, model, ClearToolResults(memory), tools=[read])).invoke(asked("read"), told)
    model = RecordingModel(script=[calling("read_tool_result", 2, reference="call-1"), "done"])
    styled(create_agent(model, [], middleware=[ClearToolResults(memory)])).invoke(asked("read it"))
    assert model.seen[1][-1].status == "error"


@pytest.mark.parametrize(
    "wrong", [{"keep": -1}, {"keep": True}, {"keep": 1.5}, {"longer_than": float("nan")}, {"exclude": "read"}]
)
def test_what_says_not_what_is_to_be_cleared_is_refused_before_anything_runs(wrong) -> None:
    with pytest.raises(errors.ConfigurationError):
        ClearToolResults(**wrong)
    with pytest.raises(errors.InvalidInputError):
        clear_tool_results([], **wrong)
    with pytest.raises(errors.ConfigurationError):
        ClearToolResults(page=0)
