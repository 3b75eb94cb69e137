"""What LangGraph itself puts into checkpoints, writes and stores.

Payloads are positional, with trailing defaults left out: a field that LangGraph adds at the end needs no new tag.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from langgraph import types
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import GetOp, Item, SearchItem

from perdure.core.codec import tags
from perdure.core.codec.kinds import Kind

_Fields = tuple[tuple[str, object], ...]
_REQUIRED: Final = object()


def _take(fields: _Fields) -> Callable[[Any], list[object]]:
    names = [name for name, _ in fields]
    defaults = [default for _, default in fields]

    def take(value: object) -> list[object]:
        payload = [getattr(value, name) for name in names]
        while payload and _is(payload[-1], defaults[len(payload) - 1]):
            payload.pop()
        return payload

    return take


def _is(value: object, default: object) -> bool:
    return value is default or (type(value) in (str, bool, tuple) and type(value) is type(default) and value == default)


def _record(code: int, cls: type, *fields: tuple[str, object]) -> Kind:
    """Describe a class with plain attributes, made again without its `__init__`."""
    names = tuple(name for name, _ in fields)
    defaults = {name: default for name, default in fields if default is not _REQUIRED}

    def make(payload: list[Any]) -> object:
        value: Any = object.__new__(cls)
        given = dict(zip(names, payload, strict=False))
        if len(payload) > len(names) or len(given.keys() | defaults.keys()) < len(names):
            raise ValueError(code)
        for name, part in (defaults | given).items():
            object.__setattr__(value, name, part)
        return value

    return Kind(code, cls, _take(fields), make)


def _named_tuple(code: int, cls: Any) -> Kind:
    def make(payload: list[Any]) -> object:
        return cls(*payload)

    return Kind(code, cls, list, make)


_ITEM: Final = (
    ("namespace", _REQUIRED),
    ("key", _REQUIRED),
    ("value", _REQUIRED),
    ("created_at", _REQUIRED),
    ("updated_at", _REQUIRED),
)

KINDS: Final = (
    _record(tags.SEND, types.Send, ("node", _REQUIRED), ("arg", _REQUIRED), ("timeout", None)),
    _record(tags.INTERRUPT, types.Interrupt, ("value", _REQUIRED), ("id", _REQUIRED), ("response_schema", None)),
    _record(tags.COMMAND, types.Command, ("graph", None), ("update", None), ("resume", None), ("goto", ())),
    _record(tags.OVERWRITE, types.Overwrite, ("value", _REQUIRED), ("type", "__overwrite__")),
    _record(
        tags.TIMEOUT_POLICY, types.TimeoutPolicy, ("run_timeout", None), ("idle_timeout", None), ("refresh_on", "auto")
    ),
    _named_tuple(tags.STATE_SNAPSHOT, types.StateSnapshot),
    _named_tuple(tags.PREGEL_TASK, types.PregelTask),
    _named_tuple(tags.STATE_UPDATE, types.StateUpdate),
    _record(tags.ITEM, Item, *_ITEM),
    _record(tags.SEARCH_ITEM, SearchItem, *_ITEM, ("score", None)),
    _named_tuple(tags.GET_OP, GetOp),
    _named_tuple(tags.DELTA_SNAPSHOT, _DeltaSnapshot),
)
