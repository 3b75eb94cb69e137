"""Users' classes that changed between saving and loading, and rebuilding without running their code."""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing

import pydantic
import pytest

from perdure import errors
from perdure.core.codec import Codec


def moved(value, cls):
    """Save `value`, and load it where its class is `cls`."""
    cls.__qualname__, cls.__module__ = type(value).__qualname__, type(value).__module__
    return Codec([cls]).unpack(Codec().pack(value))


@dataclasses.dataclass
class Old:
    a: int


class OldModel(pydantic.BaseModel):
    a: int


class OldPair(typing.NamedTuple):
    a: int


def test_a_new_field_of_a_dataclass_gets_its_default():
    @dataclasses.dataclass
    class New:
        a: int
        b: list = dataclasses.field(default_factory=list)

    assert moved(Old(1), New) == New(1, [])


def test_a_new_field_without_default_is_an_error():
    @dataclasses.dataclass
    class New:
        a: int
        b: int

    with pytest.raises(errors.StoredValueError, match=r"doesn't fit the class as it is now: missing \['b'\]"):
        moved(Old(1), New)


def test_a_slot_that_is_gone_is_an_error():
    @dataclasses.dataclass(slots=True)
    class New:
        b: int = 1

    with pytest.raises(errors.StoredValueError, match="no field 'a'"):
        moved(Old(1), New)


def test_a_changed_model_is_validated():
    class New(pydantic.BaseModel):
        a: str = pydantic.Field(coerce_numbers_to_str=True)
        b: int = 2

    assert moved(OldModel(a=1), New) == New(a="1")


def test_a_changed_model_that_does_not_validate_is_an_error():
    class New(pydantic.BaseModel):
        a: int
        b: int

    with pytest.raises(errors.StoredValueError, match="doesn't fit the class as it is now"):
        moved(OldModel(a=1), New)


def test_an_unchanged_model_is_not_validated():
    class Strict(pydantic.BaseModel):
        a: int

        @pydantic.field_validator("a")
        @classmethod
        def _never(cls, value):
            raise ValueError(value)

    assert moved(OldModel(a=1), Strict).a == 1


def test_an_unchanged_dataclass_is_not_initialised():
    @dataclasses.dataclass
    class Loud:
        a: int

        def __post_init__(self):
            raise AssertionError

    assert moved(Old(1), Loud).a == 1


def test_a_named_tuple_may_gain_a_field_with_a_default():
    class New(typing.NamedTuple):
        a: int
        b: int = 5

    assert moved(OldPair(1), New) == (1, 5)


def test_a_named_tuple_that_lost_a_field_is_an_error():
    class New(typing.NamedTuple):
        b: int = 5

    with pytest.raises(errors.StoredValueError, match=r"unknown \['a'\]"):
        moved(OldPair(1), New)


def test_a_member_that_is_gone_is_an_error():
    class Then(enum.Enum):
        A = 1

    class Now(enum.Enum):
        B = 1

    with pytest.raises(errors.StoredValueError, match="no member 'A'"):
        moved(Then.A, Now)


def test_the_fields_a_model_was_given_are_remembered():
    class Two(pydantic.BaseModel):
        a: int = 1
        b: int = 2

    codec = Codec()
    assert codec.unpack(codec.pack(Two(b=2))).model_fields_set == {"b"}


def test_a_cached_property_is_computed_anew():
    @dataclasses.dataclass
    class Sized:
        text: str

        @functools.cached_property
        def lock(self):
            return lambda: self.text

    value = Sized("a")
    assert value.lock
    codec = Codec()
    assert codec.unpack(codec.pack(value)) == Sized("a")
