"""Putting items: what a put was asked for, checked and encoded before its transaction."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from langgraph.store.base import NOT_PROVIDED, NotProvided, PutOp

from perdure import errors
from perdure.core import abouts, filters, ids, items, namespaces
from perdure.core.codec import Codec
from perdure.core.search import texts
from perdure.core.search.shelves import Shelves
from perdure.langgraph.embedding import Wanted
from perdure.model import Source

__all__ = ["Put", "PutOptions", "check_key", "draft", "micros"]

LONGEST_TTL = 2**31
"""Minutes."""

_MINUTE = 60_000_000


class PutOptions(TypedDict, total=False):
    """What else a put may say about an item: see `perdure.model.About`."""

    kind: str | None
    source: Source | Mapping[str, str | None] | None
    confidence: float | None
    importance: float | None
    valid_from: datetime | None
    valid_to: datetime | None
    superseded_by: str | None
    quarantined: bool


@dataclass(frozen=True, slots=True)
class Put:
    """A put with all that ours may say; LangGraph's PutOp says less."""

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    index: object = None
    ttl: float | NotProvided | None = NOT_PROVIDED
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, op: PutOp) -> Put:
        """Return LangGraph's operation as ours."""
        return cls(op.namespace, op.key, op.value or {}, op.index, op.ttl)


@dataclass(slots=True)
class Setting:
    """What the store knows of every operation of a call.

    `fields`: the paths that items are found by. `wanted`: queries as vectors, made before the transaction.
    """

    codec: Codec
    subject: str | None
    shelves: Shelves
    indexed: bool = False
    fields: tuple[str, ...] = texts.WHOLE
    wanted: Wanted | None = None


def draft(setting: Setting, put: Put, place: int) -> items.Draft:
    """Check and encode a put. Raises what InvalidInputError and UnsupportedValueError stand for."""
    labels, key = namespaces.check(put.namespace), check_key(put.key)
    namespaces.refuse_reserved(labels)
    fields, value, about = _fields(put.index), _value(put.value), abouts.check(put.about)
    packed = setting.codec.pack(value)
    projection = filters.write(value, setting.codec, abouts.plain(about))
    return items.Draft(
        namespace=namespaces.pack(labels),
        key=key,
        value=setting.codec.seal(packed),
        projection=projection,
        ttl=None if isinstance(put.ttl, NotProvided) else micros(put.ttl),
        subject=setting.subject,
        place=place,
        about=about,
        fields=fields,
        embedded=_embedded(setting, projection, fields),
    )


def _embedded(setting: Setting, projection: str, fields: str | None) -> int | None:
    if not setting.indexed:
        return items.UNASKED
    return items.PENDING if texts.of(projection, fields, setting.fields) else items.NOTHING_TO_EMBED


def check_key(key: object) -> str:
    """Return a key that an item can have. Raises InvalidIdError."""
    return str.__str__(ids.check(key, "key", longest=items.LONGEST_KEY))


def _value(given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise errors.UnsupportedValueError(f"$: an item's value is a dict, not {type(given).__name__}; wrap it in one")
    value = dict(given)
    for name in value:
        if not isinstance(name, str):
            raise errors.UnsupportedValueError(
                f"$: the keys of an item's value are strings; {name!r} is {type(name).__name__}"
            )
    return value


def _fields(index: object) -> str | None:
    """Return the paths that an item is found by, as they are stored; None: those of the index."""
    if index is None:
        return None
    if index is False:
        return "[]"
    if not isinstance(index, list) or not all(isinstance(path, str) for path in index):
        raise errors.InvalidInputError("index is None, False or a list of field paths such as ['text', 'tags[*]']")
    return json.dumps(index, ensure_ascii=False)


def micros(minutes: object) -> int | None:
    """Return a TTL in microseconds. Raises InvalidInputError."""
    if minutes is None:
        return None
    known = isinstance(minutes, int | float) and not isinstance(minutes, bool) and math.isfinite(minutes)
    if known and 0 < minutes <= LONGEST_TTL:  # type: ignore[operator]
        return max(1, round(minutes * _MINUTE))  # type: ignore[operator]
    raise errors.InvalidInputError(f"ttl is a number of minutes above 0, up to {LONGEST_TTL}, or None; not {minutes!r}")
