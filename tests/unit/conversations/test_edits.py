"""Changing what the state holds, so that the rest is still a conversation."""

import random

import pytest
from langchain_core.messages import RemoveMessage
from langgraph.graph.message import add_messages
from tests import talks
from tests.talks import ai, human, result, written

from perdure import errors
from perdure.core.conversations import (
    clear_tool_results,
    remove,
    remove_all,
    replace,
    replace_all,
    validate,
)


def talk() -> list:
    return talks.numbered([human(), ai("c1", "c2"), result("c1"), result("c2"), ai(), human(), ai()])


@pytest.mark.parametrize(
    ("unwanted", "left"),
    [
        ((), "H A[c1,c2] T(c1) T(c2) A H A"),
        (("m6",), "H A[c1,c2] T(c1) T(c2) A H"),
        (("m2",), "H A H A"),
        (("m1",), "H A H A"),
        (("m0",), "H A"),
        (("m0", "m1"), "H A"),
        (("m5",), "H A[c1,c2] T(c1) T(c2) A A"),
        (("m0", "m5"), ""),
    ],
)
def test_what_can_not_stay_without_a_removed_message_goes_too(unwanted, left) -> None:
    messages = talk()
    assert written(add_messages(messages, remove(messages, unwanted))) == left


def test_messages_may_be_given_in_place_of_ids() -> None:
    messages = talk()
    assert [one.id for one in remove(messages, messages[4:5])] == ["m4"]


def test_the_removal_of_a_message_that_is_not_there_is_refused() -> None:
    with pytest.raises(errors.NotFoundError, match="'m9'"):
        remove(talk(), ["m1", "m9"])


def test_an_orphan_goes_without_the_human_message_before_it() -> None:
    messages = talks.numbered([human(), result("nothing"), ai()])
    assert written(add_messages(messages, remove(messages, ["m1"]))) == "H A"


def test_all_can_go_and_all_can_be_replaced() -> None:
    assert add_messages(talk(), remove_all()) == []
    assert written(add_messages(talk(), replace_all([human(), ai()]))) == "H A"
    with pytest.raises(errors.InvalidConversationError, match="message 0"):
        replace_all([ai()])


def test_a_replaced_message_keeps_its_place() -> None:
    messages = talk()
    found = add_messages(messages, replace(messages, human("better", id="m5")))
    assert [message.text for message in found[5:]] == ["better", "a"]


def test_a_replacement_that_breaks_a_group_is_refused() -> None:
    messages = talk()
    with pytest.raises(errors.InvalidConversationError, match="answers no call"):
        replace(messages, ai(id="m1"))
    with pytest.raises(errors.NotFoundError):
        replace(messages, human("no id"))
    with pytest.raises(errors.NotFoundError):
        replace(messages, human("new", id="m77"))


def test_what_was_wrong_before_may_stay_wrong() -> None:
    messages = talks.numbered([human(), ai("c"), human(), ai()])
    assert len(replace(messages, human("better", id="m2"))) == 1


def test_old_long_results_become_references_with_their_ids() -> None:
    messages = talks.numbered(
        [human(), ai("c1", "c2", "c3"), result("c1", "x" * 5000), result("c2", "short"), result("c3", "y" * 5000), ai()]
    )
    [reference] = clear_tool_results(messages, keep=1)
    assert (reference.id, reference.tool_call_id) == ("m2", "c1")
    assert "5,000 characters" in reference.text
    assert 'read_tool_result(reference="m2")' in reference.text
    found = add_messages(messages, [reference])
    assert validate(found) == []
    assert clear_tool_results(found, keep=1) == []  # a reference is not cleared again
    assert messages[2].text == "x" * 5000


def test_results_of_excluded_tools_and_the_last_ones_stay() -> None:
    messages = talks.numbered([human(), ai("c1"), result("c1", "x" * 5000), ai()])
    assert clear_tool_results(messages, keep=0, exclude=["look"]) == []
    assert clear_tool_results(messages, keep=1) == []
    assert len(clear_tool_results(messages, keep=0)) == 1
    with pytest.raises(errors.InvalidInputError):
        clear_tool_results(messages, keep=-1)


def test_any_removal_from_a_valid_conversation_leaves_one() -> None:
    for seed in range(500):
        rng = random.Random(seed)
        messages = talks.drawn(rng)
        unwanted = rng.sample(messages, rng.randint(0, len(messages)))
        left = add_messages(messages, remove(messages, unwanted))
        assert validate(left) == []
        assert not {message.id for message in unwanted} & {message.id for message in left}


def test_a_plain_removal_leaves_broken_ones() -> None:
    """A control: LangGraph's own removal, without the rest of the group."""
    messages = talk()
    assert validate(add_messages(messages, [RemoveMessage(id="m2")]))


def test_a_message_without_an_id_can_not_be_removed_and_that_is_said() -> None:
    with pytest.raises(errors.NotFoundError):
        remove([human("h")], [human("h")])
