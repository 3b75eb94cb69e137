"""Differences between two states."""

import copy

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from perdure.cli import diffs
from perdure.cli.values import plain


def changes(before, after):
    found = diffs.between(plain(before), plain(after))
    return [(change.sign, change.path, change.before, change.after) for change in found]


def said(name, text, kind=HumanMessage):
    return kind(text, id=name)


def test_messages_are_told_apart_by_their_ids():
    before = {"messages": [said("1", "a"), said("2", "b"), said("3", "c")]}
    after = {"messages": [said("2", "b"), said("3", "C"), said("4", "d", AIMessage)]}
    found = changes(before, after)
    assert [(sign, path) for sign, path, *_ in found] == [
        ("-", "messages[0]"),
        ("~", "messages[1]"),
        ("+", "messages[2]"),
    ]
    assert (found[1][2]["content"], found[1][3]["content"]) == ("c", "C")


def test_a_first_message_is_an_addition_to_nothing():
    found = changes({}, {"messages": [said("1", "a")]})
    assert [(sign, path) for sign, path, *_ in found] == [("+", "messages[0]")]


def test_lists_are_compared_by_element():
    assert changes({"x": [1, 2, 3, 4]}, {"x": [1, 3, 4, 5]}) == [("-", "x[1]", 2, None), ("+", "x[3]", None, 5)]


def test_dictionaries_are_compared_by_key_all_the_way_down():
    before = {"files": {"a.txt": {"size": 1}, "b": 1}, "gone": 1}
    after = {"files": {"a.txt": {"size": 2}, "c": 1}}
    assert changes(before, after) == [
        ("~", 'files["a.txt"].size', 1, 2),
        ("-", "files.b", 1, None),
        ("+", "files.c", None, 1),
        ("-", "gone", 1, None),
    ]


def test_one_and_true_and_a_tuple_and_a_list_differ():
    assert [sign for sign, *_ in changes({"a": 1, "b": (1,)}, {"a": True, "b": [1]})] == ["~", "~"]


def test_long_lists_are_compared_in_no_time():
    before = {"x": list(range(20_000))}
    after = {"x": [-1, *range(20_000), -2]}
    assert changes(before, after)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)
STATES = st.dictionaries(st.text(max_size=3), JSON, max_size=4)


@given(STATES)
def test_a_state_does_not_differ_from_its_copy(state):
    assert changes(state, copy.deepcopy(state)) == []


@given(STATES, STATES)
def test_different_states_differ(before, after):
    if plain(before) != plain(after):
        assert changes(before, after)
    assert len(diffs.lines(list(diffs.between(before, after)))) >= len(changes(before, after))
