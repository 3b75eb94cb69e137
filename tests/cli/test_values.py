"""Values as plain JSON: different values look different, and nothing is too strange to look at."""

import datetime as dt
import decimal
import enum
import json
import uuid
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langgraph.types import Command, Interrupt, Send
from pydantic import BaseModel

from perdure.cli.values import compact, plain
from perdure.core.codec import Codec, Opaque


class Model(BaseModel):
    name: str


@dataclass
class Data:
    name: str


class Color(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


SAMPLES = [
    None,
    True,
    1,
    1.0,
    float("nan"),
    float("inf"),
    2**80,
    10**5000,
    -(10**5000),
    "1",
    b"1",
    bytearray(b"12"),
    [1],
    (1,),
    {1},
    {"a": 1},
    {1: "a"},
    {"1": "a"},
    dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    dt.date(2026, 1, 2),
    decimal.Decimal("1.0"),
    uuid.UUID(int=1),
    Color.RED,
    Model(name="m"),
    Data(name="m"),
    Point(1, 2),
    Send("node", {"a": 1}),
    Interrupt(value="ok?", id="i"),
    Command(update={"a": 1}),
    Document("text", metadata={"a": 1}),
    AIMessage("hi", id="1"),
    np.array([1.5, 2.5]),
    np.array([1, 2]),
    np.float32(1),
]


def test_different_values_look_different():
    shown = [json.dumps(plain(value), sort_keys=True) for value in SAMPLES]
    assert len(set(shown)) == len(SAMPLES)


def test_classes_that_are_not_there_are_shown_by_their_names():
    packed = Codec([Model]).pack({"prefs": [Model(name="m")]})
    shown = plain(Codec().unpack_opaque(packed))
    assert shown["prefs"][0]["$type"].endswith("test_values:Model")
    assert "m" in json.dumps(shown["prefs"][0]["value"])


def test_bytes_are_counted_and_long_values_are_cut_where_people_read():
    assert compact(plain({"data": b"x" * 1000})) == '{"data": "<1,000 bytes>"}'
    assert compact("x" * 1000).endswith("… (1,002 characters)")
    assert plain(Opaque("m:T", [1], b"")) == {"$type": "m:T", "value": [1]}
