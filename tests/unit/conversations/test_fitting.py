"""What of a conversation a budget has room for."""

import random

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from tests import talks
from tests.talks import ai, human, result, written

from perdure import errors
from perdure.core.conversations import Budget, approximate, fit, marks, validate

TALK = [human(), ai("c1", "c2"), result("c1"), result("c2"), ai(), human(), ai("c3"), result("c3"), ai()]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (1, "H A"),
        (2, "H A"),
        (3, "H A"),
        (4, "H A[c3] T(c3) A"),
        (6, "H A[c3] T(c3) A"),
        (7, "H A[c3] T(c3) A"),
        (8, "H A[c3] T(c3) A"),
        (9, written(TALK)),
        (None, written(TALK)),
    ],
)
def test_whole_turns_stay_from_the_end_and_of_the_last_its_human_message_and_newest_groups(tokens, expected) -> None:
    found = fit(TALK, Budget(tokens), count=len)
    assert written(found.messages) == expected
    assert found.over == (tokens == 1)
    assert len(found.dropped) == len(TALK) - len(found.messages)


def test_at_most_so_many_turns_stay() -> None:
    assert written(fit(TALK, Budget(turns=1), count=len).messages) == "H A[c3] T(c3) A"
    assert written(fit(TALK, Budget(turns=2), count=len).messages) == written(TALK)


def test_one_human_message_that_is_too_long_stays_and_is_flagged() -> None:
    long = human("word " * 5000)
    found = fit([long], Budget(100))
    assert found.messages == [long]
    assert found.over
    assert found.dropped == ()


def test_one_human_message_that_is_too_long_is_cut_where_that_was_asked_for() -> None:
    long = human("word " * 5000, id="m")
    found = fit([long], Budget(100, oversize="cut"))
    [shown] = found.messages
    assert approximate([shown]) <= 100
    assert not found.over
    assert found.cut is long
    assert shown.text.startswith("word word")
    assert "characters left out" in shown.text
    assert len(long.text) == 25_000


def test_of_content_blocks_the_longest_text_is_cut() -> None:
    blocks = [{"type": "image_url", "image_url": {"url": "data:,"}}, {"type": "text", "text": "word " * 900}, "short"]
    found = fit([HumanMessage(blocks)], Budget(200, oversize="cut"))
    [shown] = found.messages
    assert [shown.content[0], shown.content[2]] == [blocks[0], "short"]
    assert "characters left out" in shown.content[1]["text"]
    assert approximate([shown]) <= 200


def test_a_room_too_small_for_any_text_cuts_nothing_and_flags() -> None:
    found = fit([human("word " * 100)], Budget(4, oversize="cut"))
    assert found.over
    assert found.cut is None
    assert found.messages[0].text == "word " * 100


def test_system_and_human_message_stay_whatever_the_budget() -> None:
    found = fit([SystemMessage("s"), human()], Budget(1), count=len)
    assert written(found.messages) == "S H"
    assert found.over


def test_what_is_fixed_counts() -> None:
    assert written(fit(TALK, Budget(9, fixed=1), count=len).messages) == "H A[c3] T(c3) A"
    assert fit(TALK, Budget(9, fixed=1), count=len).tokens == 5


def test_a_function_may_choose_groups_and_each_brings_its_human_message() -> None:
    found = fit(TALK, Budget(keep=lambda groups: groups[1:2]), count=len)
    assert written(found.messages) == "H A[c1,c2] T(c1) T(c2) H A"
    assert validate(found.messages) == []


def test_a_choice_that_is_too_large_loses_its_oldest_turns() -> None:
    found = fit(TALK, Budget(6, keep=lambda groups: groups), count=len)
    assert written(found.messages) == "H A[c3] T(c3) A"


def test_a_choice_of_nothing_leaves_the_last_human_message_and_the_last_group() -> None:
    assert written(fit(TALK, Budget(keep=lambda _: ()), count=len).messages) == "H A"


def test_a_counter_that_is_no_sum_is_asked_again_until_it_fits() -> None:
    found = fit(TALK, Budget(30), count=lambda messages: len(messages) ** 2)
    assert written(found.messages) == "H A[c3] T(c3) A"
    assert not found.over


def test_a_choice_far_too_large_is_counted_a_few_times_and_loses_no_turn_too_many() -> None:
    asked = []

    def count(messages):
        asked.append(len(messages))
        return len(messages)

    found = fit(TALK * 200, Budget(100, keep=lambda groups: groups), count=count)
    assert 91 < len(found.messages) <= 100
    assert len(asked) < 25


def test_what_fits_needs_no_repair() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        head = [marks.said("likes tea", "profile")] * chance.randrange(2)
        chosen = chance.choice(["last", lambda groups: groups[::2], lambda groups: groups[:3]])
        budget = Budget(chance.choice([None, 20, 200]), chance.choice([None, 1, 2]), chosen)
        assert validate(fit([*head, *talks.broken(chance)], budget).messages) == []


def test_memories_stay_with_the_human_message_they_were_put_before() -> None:
    memories = marks.said("what is known", "memories")
    messages = [*TALK[:5], memories, *TALK[5:]]
    found = fit(messages, Budget(5), count=len)
    assert found.messages == [memories, *TALK[5:]]
    assert not found.over


def test_a_summary_and_a_profile_stay_in_front() -> None:
    head = [marks.said("likes tea", "profile"), marks.said("so far", "summary")]
    found = fit([*head, *TALK], Budget(4), count=len)
    assert found.messages == [*head, human(), ai()]


def test_wide_characters_count_as_a_token_each() -> None:
    assert approximate([human("咖" * 400)]) >= 400
    assert approximate([human("a" * 400)]) < 120
    assert approximate([human("咖a啡" * 100)]) == approximate([human("a" * 100 + "咖" * 200)])


def test_a_smaller_budget_never_shows_more() -> None:
    for seed in range(200):
        messages = talks.drawn(random.Random(seed))
        sizes = [len(fit(messages, Budget(tokens)).messages) for tokens in (10, 40, 160, 640, 2560)]
        assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    "wrong",
    [{"tokens": float("nan")}, {"tokens": "9"}, {"turns": 0}, {"turns": True}, {"keep": "first"}, {"oversize": "no"}],
)
def test_what_says_no_budget_is_refused(wrong) -> None:
    with pytest.raises(errors.InvalidInputError):
        Budget(**wrong)
