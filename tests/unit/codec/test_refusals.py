"""What would not come back is refused, with the path to it and what to do."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import functools
import io
import re
import threading
import types

import numpy as np
import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command, Send
from tests.unit.codec.samples import Pair, Point, Profile

from perdure import errors
from perdure.core.codec import Codec


class Text(str):
    __slots__ = ()


class Plain:
    pass


@dataclasses.dataclass
class Bag(dict):
    name: str = ""


class Zone(dt.tzinfo):
    pass


def _generator():
    yield 1


REFUSED = {
    "function": (_generator, "look it up"),
    "lambda": (lambda: 1, "look it up"),
    "class": (Point, "look it up"),
    "module": (types, "look it up"),
    "partial": (functools.partial(int, "1"), "look it up"),
    "generator": (_generator(), "make it a list"),
    "lock": (threading.Lock(), "pydantic model"),
    "object": (object(), "pydantic model"),
    "plain class": (Plain(), "pydantic model"),
    "exception": (ValueError("x"), "repr(error)"),
    "file": (io.BytesIO(), "what the file holds"),
    "memoryview": (memoryview(b"x"), "bytes(value)"),
    "str subclass": (Text("x"), "str(value)"),
    "dataclass that is a dict": (Bag("x"), "in a field instead"),
    "time zone": (dt.datetime(2024, 1, 1, tzinfo=Zone()), "zoneinfo.ZoneInfo"),
    "factory": (collections.defaultdict(lambda: 1), "Factories that can be kept"),
    "matrix": (np.ma.masked_array([1]), "pydantic model"),
    "object in a structure": (np.zeros(1, dtype=[("a", "O")]), "tolist"),
    "debug pattern": (types.SimpleNamespace(flags=re.DEBUG, value=_generator), "look it up"),
    "an extension of its own": (ormsgpack.Ext(14, b"\x90"), "pydantic model"),
    "a fragment": (ormsgpack.Fragment(b"\xc0"), "pydantic model"),
}


@pytest.mark.parametrize(("value", "advice"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_kept_is_refused_with_advice(value, advice):
    with pytest.raises(errors.UnsupportedValueError, match=re.escape(advice)) as caught:
        Codec().pack({"a": [1, (2, value)]})
    assert caught.value.path.startswith("$.a[1][1]")
    assert str(caught.value).startswith(caught.value.path)


BAD = _generator

PATHS = {
    "$": BAD,
    "$.messages[3].artifact": {"messages": ["a", "b", "c", ToolMessage("x", tool_call_id="1", artifact=BAD)]},
    "$.response_metadata.raw": AIMessage("x", response_metadata={"raw": BAD}),
    "$.hobby": HumanMessage("x", hobby=BAD),
    "$['a b'][2]": {"a b": (1, 2, BAD)},
    "$[7].x": {7: {"x": BAD}},
    "$.keys()[(<class 'int'>,)][0]": {(int,): 1},
    "$.arg.deep[0]": Send("n", {"deep": [BAD]}),
    "$.update.a": Command(update={"a": BAD}),
    "$.x": Point(BAD, 1),
    "$.right": Pair(1, BAD),
    "$.when[0]": Profile(when=[BAD]),
    "$.hobby[0]": Profile(hobby=[BAD]),
    "$.value": types.SimpleNamespace(value=BAD),
    "$[0]": collections.deque([BAD]),
    "$.flat[1]": np.array([1, BAD], dtype=object),
}


@pytest.mark.parametrize(("path", "value"), PATHS.items(), ids=PATHS)
def test_the_error_names_the_path(path, value):
    with pytest.raises(errors.UnsupportedValueError) as caught:
        Codec().pack(value)
    assert caught.value.path == path


def test_the_path_begins_where_the_caller_says():
    with pytest.raises(errors.UnsupportedValueError) as caught:
        Codec().pack([BAD], path="$.state")
    assert caught.value.path == "$.state[0]"


def test_a_cycle_is_refused():
    cycle = {"a": [1]}
    cycle["a"].append(cycle)
    with pytest.raises(errors.UnsupportedValueError, match="contains itself") as caught:
        Codec().pack(cycle)
    assert caught.value.path == "$.a[1]"


def test_a_cycle_through_our_types_is_refused():
    queue = collections.deque()
    queue.append((queue,))
    with pytest.raises(errors.UnsupportedValueError, match="contains itself"):
        Codec().pack(queue)


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {"a": inner}])
def test_a_hundred_thousand_levels_are_refused(wrap):
    value = functools.reduce(lambda inner, _: wrap(inner), range(100_000), None)
    try:
        with pytest.raises(errors.UnsupportedValueError, match="levels deep"):
            Codec().pack(value)
    finally:
        while value is not None:  # taken apart by hand: freeing it recursively would itself go deep
            value = next(iter(value.values())) if isinstance(value, dict) else value[0]


def test_registering_says_what_can_be_registered():
    codec = Codec()
    with pytest.raises(errors.UnsupportedValueError, match="pydantic model"):
        codec.register(Plain)
    with pytest.raises(errors.UnsupportedValueError, match=r"memory\.register\(graph\)"):
        codec.register(Point(1, 2))
    with pytest.raises(errors.UnsupportedValueError, match="in a field instead"):
        Codec([Bag])


def test_an_aligned_dtype_is_refused():
    with pytest.raises(errors.UnsupportedValueError, match="padding"):
        Codec().pack(np.zeros(1, dtype=np.dtype([("a", "i1"), ("b", "i8")], align=True)))
