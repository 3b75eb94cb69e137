"""Putting items: what a put was asked for, checked and encoded before its transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypedDict

from langgraph.store.base import NOT_PROVIDED, NotProvided, PutOp

from perdure import errors
from perdure.core import abouts, filters, ids, items, namespaces
from perdure.core.codec import Codec
from perdure.core.search import texts
from perdure.core.search.shelves import Shelves
from perdure.langgraph import moments
from perdure.langgraph.embedding import Wanted
from perdure.model import Source

__all__ = [
    "KEPT",
    "AboutOptions",
    "Delete",
    "Put",
    "PutOptions",
    "check_key",
    "check_version",
    "draft",
    "value_of",
]

LARGEST_VERSION = 2**62
KEPT: Final = object()
"""A TTL: the item that is changed keeps its end."""
_CONDITIONS: Final = ("if_version", "if_absent", "expires_at")


class AboutOptions(TypedDict, total=False):
    """What is known about an item (`perdure.About`)."""

    kind: str | None
    source: Source | Mapping[str, str | None] | None
    confidence: float | None
    importance: float | None
    valid_from: datetime | None
    valid_to: datetime | None
    superseded_by: str | None
    quarantined: bool


class PutOptions(AboutOptions, total=False):
    """What else a put may say: on which condition, until when, and what is known about the item."""

    if_version: int | None
    if_absent: bool
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Put:
    """A put with all that ours may say; LangGraph's PutOp says less.

    `told`: its result is the item as it is then. `if_updated`: with `if_version`, when that version was stored.
    """

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    index: object = None
    ttl: object = NOT_PROVIDED
    about: Mapping[str, Any] = field(default_factory=dict)
    if_version: int | None = None
    if_absent: bool = False
    expires_at: datetime | None = None
    told: bool = False
    if_updated: int | None = None

    @classmethod
    def of(cls, op: PutOp) -> Put:
        """Return LangGraph's operation as ours."""
        return cls(op.namespace, op.key, op.value or {}, op.index, op.ttl)

    def saying(self, options: PutOptions) -> Put:
        """Return the same put with what keywords say."""
        if not options:
            return self
        about = {name: said for name, said in options.items() if name not in _CONDITIONS}
        given = {name: said for name, said in options.items() if name in _CONDITIONS}
        return replace(self, about=about, **given)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Delete:
    """A removal with all that ours may say. `purge`: with the versions that its history has."""

    namespace: tuple[str, ...]
    key: str
    if_version: int | None = None
    purge: bool = False


@dataclass(slots=True)
class Setting:
    """What the store knows of every operation of a call.

    `fields`: the paths that items are found by. `wanted`: queries as vectors, made before the transaction.
    `default_ttl`, `refreshes`: what holds where neither a call nor a policy says anything.
    """

    codec: Codec
    subject: str | None
    shelves: Shelves
    now: int = 0
    indexed: bool = False
    default_ttl: float | None = None
    refreshes: bool = True
    fields: tuple[str, ...] = texts.WHOLE
    wanted: Wanted | None = None


def draft(setting: Setting, put: Put, place: int) -> items.Draft:
    """Check and encode a put. Raises what InvalidInputError and UnsupportedValueError stand for."""
    labels, key = namespaces.check(put.namespace), check_key(put.key)
    namespaces.refuse_reserved(labels)
    fields, value, about = _fields(put.index), value_of(put.value), abouts.check(put.about)
    packed = setting.codec.pack(value)
    said, ttl, end = _end(put, setting.now)
    projection = filters.write(value, setting.codec, abouts.plain(about))
    return items.Draft(
        namespace=namespaces.pack(labels),
        key=key,
        value=setting.codec.seal(packed),
        projection=projection,
        ttl=ttl,
        subject=setting.subject,
        place=place,
        about=about,
        fields=fields,
        embedded=_embedded(setting, projection, fields),
        said=said,
        expires_at=end,
        fallback=moments.micros(setting.default_ttl),
        if_version=_condition(put),
        if_updated=put.if_updated,
    )


def _end(put: Put, now: int) -> tuple[int, int | None, int | None]:
    """Return who says when the item ends, its TTL and its end."""
    if put.expires_at is not None:
        if not isinstance(put.ttl, NotProvided):
            raise errors.InvalidInputError("ttl and expires_at both say when the item ends; leave one of them out")
        return items.SAID, None, _future(put.expires_at, now)
    if put.ttl is KEPT:
        return items.KEPT, None, None
    if isinstance(put.ttl, NotProvided):
        return items.UNSAID, None, None
    return items.SAID, moments.micros(put.ttl), None


def _future(given: object, now: int) -> int:
    found = moments.instant(given, "expires_at")
    if found <= now:
        raise errors.InvalidInputError("expires_at is over already; give it a time in the future")
    return found


def _condition(put: Put) -> int | None:
    if type(put.if_absent) is not bool:
        raise errors.InvalidInputError(f"if_absent is True or False, not {put.if_absent!r}")
    if not put.if_absent:
        return check_version(put.if_version)
    if put.if_version is not None:
        raise errors.InvalidInputError("if_version and if_absent exclude each other; leave one of them out")
    return items.ABSENT


def check_version(given: object) -> int | None:
    """Return a version that an item can be required to have. Raises InvalidInputError."""
    if given is None or (type(given) is int and 0 < given < LARGEST_VERSION):
        return given
    raise errors.InvalidInputError(f"if_version is an item's `version`, a whole number from 1, not {given!r}")


def _embedded(setting: Setting, projection: str, fields: str | None) -> int | None:
    if not setting.indexed:
        return items.UNASKED
    return items.PENDING if texts.of(projection, fields, setting.fields) else items.NOTHING_TO_EMBED


def check_key(key: object) -> str:
    """Return a key that an item can have. Raises InvalidIdError."""
    return str.__str__(ids.check(key, "key", longest=items.LONGEST_KEY))


def value_of(given: object) -> dict[str, Any]:
    """Return a value that an item can have. Raises UnsupportedValueError."""
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
    for path in index:
        texts.check_path(path)
    return json.dumps(index, ensure_ascii=False)
