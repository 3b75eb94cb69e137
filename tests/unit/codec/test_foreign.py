"""Values that another serializer took apart: opaque until their class is registered, and made then."""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from perdure import errors
from perdure.core.codec import Codec, Opaque


class Color(enum.Enum):
    RED = "r"


class Leg(BaseModel):
    days: int


class Trip(BaseModel):
    legs: list[Leg]
    color: Color


@dataclass
class Point:
    x: Any


class Pair(NamedTuple):
    left: int
    right: int


class Outer:
    class Inner(BaseModel):
        n: int


CASES = [
    (Color.RED, "Color", "r", 0),
    (Leg(days=2), "Leg", {"days": 2}, 5),
    (Point([1]), "Point", {"x": [1]}, 2),
    (Pair(1, 2), "Pair", {"left": 1, "right": 2}, 2),
    (Outer.Inner(n=1), "Inner", {"n": 1}, 5),
]


def tag(name):
    return f"{__name__}:{name}"


@pytest.mark.parametrize(("value", "name", "body", "how"), CASES, ids=[case[1] for case in CASES])
def test_a_foreign_value_is_opaque_here_and_itself_where_its_class_is_registered(value, name, body, how):
    stranger = Codec()
    opaque = stranger.foreign(tag(name), body, how)
    assert isinstance(opaque, Opaque)
    assert (opaque.tag, opaque.value, opaque.how) == (tag(name), body, how)
    packed = stranger.pack({"kept": [opaque]})
    assert stranger.pack(stranger.unpack_opaque(packed)) == packed
    assert Codec([type(value)]).unpack(packed) == {"kept": [value]}
    with pytest.raises(errors.UnknownTypeError, match=r"\$\.kept\[0\]"):
        stranger.unpack(packed)


def test_what_a_dump_made_of_nested_models_is_made_again_by_the_class():
    stranger = Codec()
    color = stranger.foreign(tag("Color"), "r", 0)
    packed = stranger.pack(stranger.foreign(tag("Trip"), {"legs": [{"days": 3}], "color": color}, 5))
    found = Codec([Trip]).unpack(packed)
    assert found == Trip(legs=[Leg(days=3)], color=Color.RED)
    assert type(found.legs[0]) is Leg


def test_a_foreign_value_of_a_registered_class_is_itself_at_once():
    assert Codec([Point]).foreign(tag("Point"), {"x": 1}, 2) == Point(1)


@pytest.mark.parametrize(("name", "body", "how"), [("Color", "green", 0), ("Leg", {"days": "many"}, 5)])
def test_a_foreign_value_that_does_not_fit_its_class_is_a_typed_error(name, body, how):
    packed = Codec().pack(Codec().foreign(tag(name), body, how))
    with pytest.raises(errors.StoredValueError, match="doesn't fit the class"):
        Codec([Color, Leg]).unpack(packed)


def test_nothing_is_imported_by_the_name_of_a_foreign_value():
    assert "wsgiref.headers" not in sys.modules
    packed = Codec().pack(Codec().foreign("wsgiref.headers:Headers", {"headers": []}, 2))
    assert isinstance(Codec().unpack_opaque(packed), Opaque)
    assert "wsgiref.headers" not in sys.modules


def test_an_opaque_value_is_no_dataclass_to_take_apart():
    codec = Codec()
    opaque = codec.foreign(tag("Point"), {"x": 1}, 2)
    assert codec.parts(opaque) is None
    assert codec.unpack_opaque(codec.pack(opaque)) == opaque
