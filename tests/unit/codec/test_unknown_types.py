"""A class that the process has not registered: a typed error on load, an opaque value for looking at."""

from __future__ import annotations

import dataclasses

import pytest
from langchain_core.messages import ToolMessage
from langgraph.types import Send
from tests.unit.codec.sameness import same
from tests.unit.codec.samples import USER, Palette, Point, Prefs, Profile, prefs, profile

from perdure import errors
from perdure.core.codec import Codec, Opaque

TAG = "tests.unit.codec.samples:Prefs"
STATE = {"user": {"prefs": [1, prefs()]}, "n": 2}


def test_loading_an_unknown_class_says_how_to_register_it():
    packed = Codec().pack(STATE)
    with pytest.raises(errors.UnknownTypeError) as caught:
        Codec().unpack(packed, where="Channel 'user' of thread 't1'")
    message = str(caught.value)
    assert caught.value.tag == TAG
    assert caught.value.path == "$.user.prefs[1]"
    assert "Channel 'user' of thread 't1'" in message
    assert "$.user.prefs[1]" in message
    assert "`Memory.open(url, types=[Prefs])  # from tests.unit.codec.samples import Prefs`" in message
    assert "memory.register(graph)" in message


def test_a_nested_class_is_named_by_its_outer_one():
    with pytest.raises(errors.UnknownTypeError, match=r"types=\[Palette\.Color\]\)  # from \S+ import Palette`"):
        Codec().unpack(Codec().pack(Palette.Color.RED))


def test_registering_the_class_is_enough():
    assert same(Codec([Prefs]).unpack(Codec().pack(STATE)), STATE)


def test_registering_a_class_registers_the_classes_of_its_fields():
    assert same(Codec([Profile]).unpack(Codec().pack(profile())), profile())


def test_packing_a_class_registers_it():
    codec = Codec()
    packed = Codec().pack(STATE)
    codec.pack(prefs())
    assert same(codec.unpack(packed), STATE)


def test_a_class_defined_in_a_function_is_kept_in_this_process():
    @dataclasses.dataclass
    class Local:
        a: int

    packed = Codec().pack(Local(1))
    assert Codec([Local]).unpack(packed) == Local(1)
    with pytest.raises(errors.UnknownTypeError, match="Move Local to the top of its module"):
        Codec().unpack(packed)


def test_a_class_defined_again_takes_over():
    def define(default):
        @dataclasses.dataclass
        class Local:
            a: int = default

        return Local

    first, second = define(1), define(2)
    codec = Codec([first])
    codec.register(second)
    assert type(codec.unpack(codec.pack(second()))) is second
    codec.register(first)
    assert type(codec.unpack(codec.pack(second(5)), where="")) in (first, second)


PLACES = {
    "alone": lambda value: value,
    "in a list": lambda value: [value, {"a": value}],
    "in a tuple": lambda value: (value,),
    "as a value under an int key": lambda value: {1: value},
    "in a Send": lambda value: Send("n", [value]),
    "as an artifact": lambda value: ToolMessage("x", tool_call_id="1", artifact=value),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("value", USER.values(), ids=USER)
def test_an_opaque_value_packs_to_the_same_bytes(value, place):
    packed = Codec().pack(place(value))
    stranger = Codec()
    assert stranger.pack(stranger.unpack_opaque(packed)) == packed


def test_an_opaque_value_shows_its_tag_and_fields():
    seen = Codec().unpack_opaque(Codec().pack(Point(1.0, 2.0)))
    assert seen == Opaque("tests.unit.codec.samples:Point", {"x": 1.0, "y": 2.0}, seen.raw)
    assert seen.tag == "tests.unit.codec.samples:Point"
    assert seen.value == {"x": 1.0, "y": 2.0}


def test_opaque_values_may_be_members_of_a_set():
    packed = Codec().pack({Point(1.0, 2.0), Point(3.0, 4.0)})
    stranger = Codec()
    assert stranger.pack(stranger.unpack_opaque(packed)) == packed


def test_a_known_class_is_itself_when_unpacked_opaquely():
    codec = Codec([Prefs])
    assert same(codec.unpack_opaque(codec.pack(STATE)), STATE)
