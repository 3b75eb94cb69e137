"""The strict equality that "what goes in comes out" means: same type, same content, at every depth."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import math
import re
import struct

import numpy as np
import pydantic
from langgraph.store.base import Item
from langgraph.types import Send


@functools.singledispatch
def _content(value):
    """Return what makes a value what it is, as plain containers of values to compare in turn."""
    if dataclasses.is_dataclass(value):
        names = {field.name for field in dataclasses.fields(value)} | set(getattr(value, "__dict__", ()))
        names.discard("__orig_class__")  # what typing hangs on an instance of ``Box[int]``
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    if isinstance(value, Send | Item):
        slots = {name for base in type(value).__mro__ for name in getattr(base, "__slots__", ())}
        return {name: getattr(value, name) for name in slots}
    return None


@_content.register
def _(value: pydantic.BaseModel):
    return [
        value.__dict__,
        value.__pydantic_fields_set__,
        value.__pydantic_extra__,
        value.__pydantic_private__,
    ]


@_content.register
def _(value: complex):
    return [value.real, value.imag]


@_content.register
def _(value: dict):
    return [*value.items()]


@_content.register
def _(value: collections.deque):
    return [value.maxlen, list(value)]


@_content.register
def _(value: collections.defaultdict):
    return [value.default_factory, *value.items()]


@_content.register
def _(value: collections.ChainMap):
    return value.maps


@_content.register
def _(value: np.ndarray):
    if value.dtype.hasobject:
        return [value.shape, list(value.flat)]
    order = value.flags.f_contiguous and not value.flags.c_contiguous
    return [value.dtype.str, str(value.dtype), value.shape, order, value.tobytes()]


@_content.register
def _(value: np.generic):
    return [str(value.dtype), value.tobytes()]


def same(left, right):  # noqa: PLR0911 - a list of cases
    """Tell whether two values are equal and of the same type, all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, enum.Enum | re.Pattern | type):
        return left == right
    if type(left) is float:
        return struct.pack("d", left) == struct.pack("d", right) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        return _same_set(left, right)
    content = _content(left)
    if content is not None:
        return same(content, _content(right))
    return left == right and repr(left) == repr(right)


def _same_set(left, right):
    rest = list(right)
    for part in left:
        at = next((at for at, other in enumerate(rest) if same(part, other)), None)
        if at is None:
            return False
        rest.pop(at)
    return not rest
