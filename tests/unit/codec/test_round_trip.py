"""What goes in comes out equal and of the same type, wherever it stands."""

from __future__ import annotations

import copy
import threading

import pytest
from langchain_core.messages import ToolMessage
from langgraph.types import Send
from tests.unit.codec.sameness import same
from tests.unit.codec.samples import MESSAGES, VALUES, Palette, Point, prefs

from perdure.core.codec import Codec

PLACES = {
    "alone": lambda value: value,
    "in a list": lambda value: [1, value, "x"],
    "in a dict": lambda value: {"a": {"b": [value]}},
    "in a tuple": lambda value: (value, (value,)),
    "under an int key": lambda value: {1: value},
    "in a Send": lambda value: Send("node", {"state": value}),
    "as an artifact": lambda value: ToolMessage("x", tool_call_id="1", artifact=value),
    "in metadata": lambda value: ToolMessage("x", tool_call_id="1", response_metadata={"deep": [{"v": value}]}),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_every_value_comes_back_equal_and_of_the_same_type(value, place):
    codec = Codec()
    before = place(value)
    after = codec.unpack(codec.open(codec.seal(codec.pack(before))))
    assert same(after, before)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_equal_values_have_equal_bytes(value):
    codec = Codec()
    packed = codec.pack(value)
    assert codec.pack(codec.unpack(packed)) == packed
    assert codec.pack(copy.deepcopy(value)) == packed


def test_sets_pack_alike_whatever_order_they_were_built_in():
    codec = Codec()
    up = {f"w{at}" for at in range(50)}
    down = {f"w{at}" for at in range(49, -1, -1)}
    assert codec.pack(up) == codec.pack(down)


def test_a_dict_keeps_the_order_of_its_keys():
    codec = Codec()
    assert list(codec.unpack(codec.pack({"b": 1, "a": 2}))) == ["b", "a"]
    assert codec.pack({"b": 1, "a": 2}) != codec.pack({"a": 2, "b": 1})


def test_a_value_inside_an_unusual_one_packs_as_it_does_alone():
    codec = Codec()
    message = MESSAGES["ai"]
    assert codec.pack(message) in codec.pack({1: message, "\ud800": bytearray(b"x")})


def test_digests_are_sixteen_bytes_and_differ():
    codec = Codec()
    one, other = codec.digest(codec.pack([1])), codec.digest(codec.pack([1.0]))
    assert len(one) == len(other) == 16
    assert one != other


def test_a_shared_part_is_kept_at_each_place():
    shared = [1]
    codec = Codec()
    assert codec.unpack(codec.pack([shared, shared])) == [[1], [1]]


def test_threads_may_share_a_codec():
    codec, failures = Codec(), []

    def work(at):
        value = {"n": at, "text": "word " * at, "m": MESSAGES["ai"]}
        failures.extend(at for _ in range(200) if codec.unpack(codec.open(codec.seal(codec.pack(value)))) != value)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("a", b"a"),
        ((1,), [1]),
        ({1}, frozenset({1})),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (Palette.Color.RED, 1),
        (Point(1.0, 2.0), Point(1.0, 3.0)),
        (prefs(), "prefs"),
        (VALUES["int64"], 3),
        (VALUES["array"], VALUES["array"].astype("<i4")),
        (VALUES["column order"], VALUES["column order"].copy(order="C")),
        (VALUES["deque"], VALUES["endless deque"]),
        (MESSAGES["human"], MESSAGES["human with defaults given"]),
        (VALUES["datetime with zone"], VALUES["datetime in the fold"]),
        ([[[1]]], [[[2]]]),
    ],
)
def test_the_equality_of_these_tests_can_fail(left, right):
    assert same(left, left)
    assert not same(left, right)
