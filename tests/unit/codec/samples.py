"""Classes and values that the codec's tests share."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import ipaddress
import pathlib
import re
import types
import typing
import uuid
import zoneinfo

import numpy as np
import pydantic
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langchain_core.runnables.utils import AddableDict
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import GetOp, Item, SearchItem
from langgraph.types import (
    Command,
    Interrupt,
    Overwrite,
    PregelTask,
    Send,
    StateSnapshot,
    StateUpdate,
    TimeoutPolicy,
)


class Palette:
    """A class with an enum inside."""

    class Color(enum.Enum):
        RED = 1
        SCARLET = 1  # noqa: PIE796 - an alias of RED
        BLUE = (0, 0, 255)


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    YES = "yes"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Bits(enum.IntFlag):
    ONE = 1
    TWO = 2


@dataclasses.dataclass
class Prefs:
    name: str
    tags: list = dataclasses.field(default_factory=list)
    seen: int = dataclasses.field(init=False)

    def __post_init__(self):
        self.seen = 0
        self.log = ["made"]  # beside the fields

    @functools.cached_property
    def size(self):
        return len(self.tags)


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    at: tuple
    value: object = None


@dataclasses.dataclass
class Unfinished:
    a: int
    later: int = dataclasses.field(init=False)


T = typing.TypeVar("T")


@dataclasses.dataclass
class Box(typing.Generic[T]):
    content: T


class Pair(typing.NamedTuple):
    left: object
    right: object = None


class Inner(pydantic.BaseModel):
    color: Palette.Color
    at: dt.date


class Profile(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    name: str = "anon"
    inner: Inner | None = None
    many: dict[str, list[Inner]] = {}
    when: typing.Any = None
    _seen: int = pydantic.PrivateAttr(default=0)

    @pydantic.field_validator("name")
    @classmethod
    def _shout(cls, value):
        return value.upper()  # not idempotent on purpose: validated twice, it would show in `when`


class Aliased(pydantic.BaseModel):
    size: int = pydantic.Field(alias="theSize")


class Words(pydantic.RootModel[list[str]]):
    pass


class Page(pydantic.BaseModel, typing.Generic[T]):
    items: list[T]


def prefs():
    value = Prefs("Ada", ["x"])
    value.seen = 3
    value.extra = (1, 2)
    return value


def profile():
    inner = Inner(color=Palette.Color.RED, at=dt.date(2024, 2, 29))
    value = Profile(name="ada", inner=inner, many={"a": [inner]}, when=(1, 2), hobby={1, 2})
    value._seen = 7
    return value


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
NOW = dt.datetime(2024, 10, 27, 2, 30, 1, 999_999, tzinfo=BERLIN)

STANDARD = {
    "none": None,
    "true": True,
    "int": 7,
    "big int": 2**70,
    "negative big int": -(2**70),
    "edges": [2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1],
    "floats": [0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf")],
    "nul": "a\x00b",
    "surrogate": "a\ud83d",
    "surrogate key": {"\udc80": "\ud83d"},
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"ab"),
    "complex": complex(-0.0, float("inf")),
    "tuple": (1, (2, [3])),
    "set of tuples": {(1, 2), (3, 4), ("a", None)},
    "frozensets": frozenset({frozenset({1}), frozenset()}),
    "deque": collections.deque([1, [2]], maxlen=3),
    "endless deque": collections.deque([1]),
    "int keys": {1: "a", None: "b", (1, 2): "c", True.real + 1: "d"},
    "bool key": {True: 1},
    "bytes key": {b"k": {2.5: []}},
    "Counter": collections.Counter("abca"),
    "OrderedDict": collections.OrderedDict([("b", 1), ("a", 2)]),
    "defaultdict": collections.defaultdict(list, {"a": [1]}),
    "defaultdict without factory": collections.defaultdict(None, {1: 2}),
    "ChainMap": collections.ChainMap({"a": 1}, {"b": (2,)}),
    "namespace": types.SimpleNamespace(a=1, b={"c": (2,)}),
    "Decimal": decimal.Decimal("-1.50"),
    "Decimal of many digits": decimal.Decimal("0." + "1234567890" * 6),
    "Decimal infinity": decimal.Decimal("-Infinity"),
    "Fraction": fractions.Fraction(1, 3),
    "Fraction of big ints": fractions.Fraction(2**80, 3),
    "datetime": dt.datetime(2024, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001
    "datetime with zone": NOW,
    "datetime in the fold": NOW.replace(fold=1),
    "datetime in UTC": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    "datetime at an offset": dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
    "date": dt.date(1, 1, 1),
    "time": dt.time(1, 2, 3, 4, tzinfo=BERLIN, fold=1),
    "timedelta": dt.timedelta(days=-1, microseconds=1),
    "timezone": dt.timezone(dt.timedelta(hours=-3), "BRT"),
    "ZoneInfo": BERLIN,
    "UUID": uuid.UUID(int=7),
    "paths": [pathlib.PurePosixPath("/a/b"), pathlib.PureWindowsPath("C:\\a"), pathlib.Path("x/y")],
    "patterns": [re.compile("a+", re.IGNORECASE | re.MULTILINE), re.compile(b"b")],
    "addresses": [
        ipaddress.ip_address("10.0.0.1"),
        ipaddress.ip_address("fe80::1%eth0"),
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_network("2001:db8::/32"),
        ipaddress.ip_interface("10.0.0.1/24"),
        ipaddress.ip_interface("2001:db8::1/64"),
    ],
    "range": range(2, 9, 3),
    "slice": slice(1, None, 2),
    "Ellipsis": ...,
    "secrets": [pydantic.SecretStr("s"), pydantic.SecretBytes(b"s")],
    "URLs": [pydantic.AnyUrl("x://y"), pydantic.HttpUrl("http://a.b/c?d"), pydantic.WebsocketUrl("wss://a/")],
    "a constructor's dict": {"lc": 1, "type": "secret", "id": ["HOME"]},
    "empty": [[], {}, (), set(), "", b"", collections.OrderedDict()],
    "deep": functools.reduce(lambda inner, _: [inner], range(60), "bottom"),
    "deep tuples": functools.reduce(lambda inner, _: (inner,), range(60), "bottom"),
}

NUMPY = {
    "int64": np.int64(3),
    "longlong": np.longlong(3),
    "float64": np.float64(1.5),
    "float16": np.float16(0.1),
    "bool_": np.bool_(True),
    "complex64": np.complex64(1 + 2j),
    "str_": np.str_("grüß"),
    "empty str_": np.str_(""),
    "bytes_": np.bytes_(b"a"),
    "datetime64": np.datetime64("2024-01-01T00:00", "m"),
    "NaT": np.datetime64("NaT"),
    "timedelta64": np.timedelta64(3, "h"),
    "array": np.array([[1, 2], [3, 4]], dtype="<i2"),
    "column order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "0-d": np.array(5.0),
    "empty array": np.zeros((0, 3), dtype="f4"),
    "slice of an array": np.arange(10)[::2],
    "big endian": np.arange(3, dtype=">i4"),
    "strings": np.array(["a", "bcd"]),
    "dates": np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
    "structured": np.array([(1, (0.5, 1.5)), (2, (2.5, 3.5))], dtype=[("id", "<i4"), ("xy", "<f8", (2,))]),
    "void scalar": np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")])[0],
    "objects": np.array([1, "a", None, (2, 3)], dtype=object),
    "objects in rows": np.array([[1, "a"], [{"k": 2**70}, 2.5]], dtype=object),
}

CALL = {"name": "f", "args": {"q": [1]}, "id": "call_1", "type": "tool_call"}
USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "input_token_details": {"cache_read": 1}}

MESSAGES = {
    "human": HumanMessage("hi"),
    "human with all": HumanMessage("hi", id="1", name="Ada", additional_kwargs={"a": 1}, response_metadata={"b": (2,)}),
    "human with defaults given": HumanMessage("hi", additional_kwargs={}, id=None),
    "human with more fields": HumanMessage("hi", hobby={1, 2}),
    "human with blocks": HumanMessage([{"type": "text", "text": "a"}, {"type": "image", "base64": "AA=="}, "b"]),
    "ai": AIMessage(
        "yes", id="2", tool_calls=[CALL], usage_metadata=USAGE, response_metadata={"model_name": "m", "logprobs": None}
    ),
    "ai with an invalid call": AIMessage(
        "", invalid_tool_calls=[{"name": "f", "args": "{", "id": "x", "error": None, "type": "invalid_tool_call"}]
    ),
    "system": SystemMessage("be kind"),
    "tool": ToolMessage("42", tool_call_id="call_1", artifact={"rows": (1, np.int64(2))}, status="error"),
    "tool with an array": ToolMessage("42", tool_call_id="call_1", artifact=np.arange(4)),
    "chat": ChatMessage("x", role="critic"),
    "function": FunctionMessage("x", name="f"),
    "remove": RemoveMessage(id="7"),
    "human chunk": HumanMessageChunk("h"),
    "ai chunk": AIMessageChunk(
        "y",
        tool_call_chunks=[{"name": "f", "args": '{"a"', "id": "1", "index": 0, "type": "tool_call_chunk"}],
        chunk_position="last",
    ),
    "system chunk": SystemMessageChunk("s"),
    "tool chunk": ToolMessageChunk("t", tool_call_id="1"),
    "chat chunk": ChatMessageChunk("c", role="r"),
    "function chunk": FunctionMessageChunk("f", name="n"),
    "document": Document("text", metadata={"page": 1, "at": NOW}, id="d1"),
    "plain document": Document("text"),
    "text of a message": AIMessage("yes").text,
    "AddableDict": AddableDict({"a": 1}),
    "assigned id": HumanMessage("late"),
}
MESSAGES["assigned id"].id = "given later"

LANGGRAPH = {
    "Send": Send("node", {"a": (1,)}),
    "Send with timeout": Send("node", [], timeout=TimeoutPolicy(run_timeout=1.5, refresh_on="heartbeat")),
    "Interrupt": Interrupt(value={"q": (1,)}, id="i1"),
    "Interrupt with schema": Interrupt(value="q", id="i2", response_schema={"type": "object"}),
    "Command": Command(graph=Command.PARENT, update={"a": {1}}, resume={"i": (2,)}, goto=[Send("n", 1), "m"]),
    "bare Command": Command(),
    "Overwrite": Overwrite([1, (2,)]),
    "TimeoutPolicy": TimeoutPolicy(idle_timeout=dt.timedelta(seconds=3)),
    "StateUpdate": StateUpdate({"a": 1}, "node"),
    "PregelTask": PregelTask("id", "name", ("a", 1), interrupts=(Interrupt("v", id="i"),), result={"a": 1}),
    "StateSnapshot": StateSnapshot({"a": 1}, ("n",), {"configurable": {}}, None, "now", None, (), ()),
    "Item": Item(value={"a": (1,)}, key="k", namespace=("a", "b"), created_at=NOW, updated_at=NOW),
    "SearchItem": SearchItem(("a",), "k", {"a": 1}, NOW, NOW, 0.5),
    "GetOp": GetOp(("a",), "k", refresh_ttl=False),
    "delta snapshot": _DeltaSnapshot([HumanMessage("hi")]),
}

USER = {
    "enum in a class": Palette.Color.RED,
    "enum of a tuple": Palette.Color.BLUE,
    "IntEnum": Level.LOW,
    "StrEnum": Word.YES,
    "Flag": Access.READ,
    "Flags": Access.READ | Access.WRITE,
    "no Flag": Access(0),
    "IntFlag beyond": Bits(7),
    "dataclass": prefs(),
    "frozen dataclass": Point(1.0, -0.0),
    "slots": Cell((1, 2), {3}),
    "field never set": Unfinished(1),
    "generic dataclass": Box[int](3),
    "NamedTuple": Pair([1], {2}),
    "pydantic": profile(),
    "pydantic with defaults": Profile(),
    "pydantic with an alias": Aliased(theSize=3),
    "pydantic, constructed": Profile.model_construct(when=1),
    "root model": Words(["a"]),
    "generic model": Page[Inner](items=[Inner(color=Palette.Color.BLUE, at=dt.date(2024, 1, 1))]),
    "enum as key": {Palette.Color.RED: 1, Level.LOW: 2},
    "set of dataclasses": {Point(1.0, 2.0), Point(3.0, 4.0)},
}

VALUES = {**STANDARD, **NUMPY, **MESSAGES, **LANGGRAPH, **USER}
