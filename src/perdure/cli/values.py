"""Stored values as plain JSON, for looking at: different values look different, and no class is needed."""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import math
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Send
from pydantic import BaseModel

from perdure.core.codec import Opaque

__all__ = ["compact", "plain"]

_EMPTY: tuple[object, ...] = (None, "", [], {})
_LONGEST = 240
_WIDEST = 2000
"""Bits of a whole number up to which it is a number in JSON: of very long ones Python makes no digits."""


@singledispatch
def plain(value: Any) -> Any:
    """Return a value as lists, dictionaries with text keys, text, numbers, booleans and None.

    What JSON has no form for becomes a dictionary with one key that begins with ``$``, or has a ``$type``.
    """
    if dataclasses.is_dataclass(value):
        return _typed(value, {field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return {"$type": f"numpy {value.dtype}", "value": plain(value.tolist())}
    return {f"${type(value).__name__}": str(value)}


def _itself(value: Any) -> Any:
    return value


def _typed(value: object, fields: Mapping[str, Any]) -> Any:
    kind = type(value)
    return {"$type": f"{kind.__module__}:{kind.__qualname__}", "value": plain(dict(fields))}


for _scalar in (type(None), bool, str):
    plain.register(_scalar)(_itself)


@plain.register
def _(value: int) -> Any:
    return value if value.bit_length() <= _WIDEST else {"$int": hex(value)}


@plain.register
def _(value: float) -> Any:
    return value if math.isfinite(value) else {"$float": str(value)}


@plain.register
def _(value: list) -> Any:  # type: ignore[type-arg]
    return [plain(item) for item in value]


@plain.register
def _(value: tuple) -> Any:  # type: ignore[type-arg]
    return {"$tuple": [plain(item) for item in value]}


@plain.register(set)
@plain.register(frozenset)
def _(value: Any) -> Any:
    return {"$set": sorted((plain(item) for item in value), key=_sorting)}


@plain.register
def _(value: dict) -> Any:  # type: ignore[type-arg]
    if all(type(key) is str for key in value):
        return {key: plain(item) for key, item in value.items()}
    return {"$dict": [[plain(key), plain(item)] for key, item in value.items()]}


@plain.register(bytes)
@plain.register(bytearray)
def _(value: Any) -> Any:
    return {"$bytes": base64.b64encode(value).decode()}


@plain.register
def _(value: Opaque) -> Any:
    return {"$type": value.tag, "value": plain(value.value)}


@plain.register
def _(value: BaseMessage) -> Any:
    return {name: plain(part) for name, part in vars(value).items() if name == "content" or part not in _EMPTY}


@plain.register
def _(value: BaseModel) -> Any:
    return _typed(value, vars(value))


@plain.register
def _(value: enum.Enum) -> Any:
    return {"$enum": f"{type(value).__name__}.{value.name}"}


@plain.register
def _(value: Send) -> Any:
    return _typed(value, {"node": value.node, "arg": value.arg})


def _sorting(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def compact(value: Any, longest: int = _LONGEST) -> str:
    """Return a plain value as one line, with bytes as their number and the end left out if it is long."""
    text = json.dumps(_without_bytes(value), ensure_ascii=False)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


def _without_bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_bytes(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {"$bytes"}:
            return f"<{len(base64.b64decode(value['$bytes'])):,} bytes>"
        return {key: _without_bytes(item) for key, item in value.items()}
    return value
