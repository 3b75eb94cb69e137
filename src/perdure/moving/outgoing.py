"""Values -> bytes as the stock serializer writes them, with what was opaque here as it came."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any, Final

import ormsgpack
import pydantic
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import Item, SearchItem
from langgraph.types import Send

from perdure import errors
from perdure.core.codec import Opaque
from perdure.moving import incoming

__all__ = ["Outgoing"]

# The stock serializer's own options, but for the one that replaces lone surrogates by question marks.
_OPTIONS: Final = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_REVIVER: Final = "model_validate_json"


class Outgoing:
    """Encodes the values of one database. A message that comes again is encoded once, so it is not to be changed."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, ormsgpack.Ext]] = {}
        self._error: errors.UnsupportedValueError | None = None

    def dump(self, value: object, where: str) -> tuple[str, bytes]:
        """Return the kind and bytes of a value, as the columns of the stock tables hold them.

        Raises UnsupportedValueError, which begins with `where`, for what those savers can't keep.
        """
        if value is None:
            return "null", b""
        if isinstance(value, bytes | bytearray):
            return ("bytes" if isinstance(value, bytes) else "bytearray"), bytes(value)
        return "msgpack", self.pack(value, where)

    def pack(self, value: object, where: str = "the value") -> bytes:
        """Return a value's packed bytes, the same for equal values."""
        self._error = None
        try:
            return self._packed(value)
        except (TypeError, RecursionError) as error:
            why = self._error or error
            raise errors.UnsupportedValueError(f"{where}: stock savers can't keep it: {why}") from error

    def _packed(self, value: object) -> bytes:
        return ormsgpack.packb(value, self._hook, _OPTIONS)

    def _hook(self, value: object) -> object:
        """Take a value apart; ormsgpack would hide the error, so it is kept."""
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        try:
            code, content = _apart(value, self._packed)
        except errors.UnsupportedValueError as error:
            self._error = self._error or error
            raise
        made = content if code is None else ormsgpack.Ext(code, self._packed(content))
        if isinstance(value, BaseMessage) and isinstance(made, ormsgpack.Ext):
            self._known[id(value)] = (value, made)
        return made

    def forget(self) -> None:
        """Let go of the messages that were encoded."""
        self._known.clear()


def _apart(value: Any, pack_part: Callable[[object], bytes]) -> tuple[int | None, object]:
    """Return the extension code and its content; no code: something that packs as it is."""
    if type(value) is Opaque:
        return _opaque(value)
    if type(value) is _DeltaSnapshot:
        return incoming.DELTA, value.value
    named = (type(value).__module__, type(value).__name__)
    if isinstance(value, pydantic.BaseModel):
        return incoming.MODEL, (*named, _fields(value), _REVIVER)
    if isinstance(value, Send):
        return incoming.POSITIONAL, (*named, _sent(value))
    if isinstance(value, set | frozenset | collections.deque):
        return incoming.SINGLE, (*named, _members(value, pack_part))
    fields = _named(value)
    return (None, _leaf(value)) if fields is None else (incoming.NAMED, (*named, fields))


def _named(value: Any) -> dict[str, Any] | None:
    """Return the fields of what is made again from them by name."""
    if hasattr(value, "_asdict"):
        found: dict[str, Any] = value._asdict()
        return found
    names: list[str] | None = None
    if isinstance(value, Item):
        names = [*Item.__slots__, *(SearchItem.__slots__ if isinstance(value, SearchItem) else ())]
    elif dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    return None if names is None else {name: getattr(value, name) for name in names}


def _sent(value: Send) -> list[object]:
    timeout = getattr(value, "timeout", None)
    return [value.node, value.arg, *([] if timeout is None else [timeout])]


def _members(value: Any, pack_part: Callable[[object], bytes]) -> list[object]:
    if isinstance(value, set | frozenset):
        return sorted(value, key=pack_part)
    if value.maxlen is not None:
        raise errors.UnsupportedValueError("a deque with a largest length would come back without it")
    return list(value)


def _fields(value: pydantic.BaseModel) -> Any:
    if type(value).__pydantic_root_model__:
        return value.model_dump()
    return {**{name: part for name, part in vars(value).items() if name in type(value).model_fields}, **_extra(value)}


def _extra(value: pydantic.BaseModel) -> dict[str, Any]:
    return value.__pydantic_extra__ or {}


def _leaf(value: Any) -> object:
    """Return what the stock serializer makes of a value with nothing of ours inside."""
    try:
        return jsonplus._msgpack_default(value)  # noqa: SLF001 - its word on each of the standard library's types
    except TypeError:
        raise errors.UnsupportedValueError(f"they have no form for a {type(value).__qualname__}") from None


def _opaque(value: Opaque) -> tuple[int, object]:
    module, _, path = value.tag.partition(":")
    named = (module, path.rpartition(".")[2])
    if value.how == incoming.METHOD:
        return value.how, (*named, *value.value)
    if value.how == incoming.MODEL:
        return value.how, (*named, value.value, _REVIVER)
    if value.how is not None:
        return value.how, (*named, value.value)
    if isinstance(value.value, dict):
        return incoming.NAMED, (*named, value.value)
    if isinstance(value.value, list) and value.value and isinstance(value.value[0], dict):
        fields, *rest = value.value
        return incoming.MODEL, (*named, {**fields, **(rest[1] if len(rest) > 1 and rest[1] else {})}, _REVIVER)
    raise errors.UnsupportedValueError(f"{value.tag} is to be named with --types for this")
