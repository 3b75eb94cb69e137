"""What crosses the layers: small frozen records, with no behaviour of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = [
    "About",
    "Address",
    "ChannelStats",
    "Page",
    "Policy",
    "Reindexed",
    "Said",
    "Source",
    "Thread",
    "ThreadStats",
    "Version",
    "Why",
]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a config points: a thread, a checkpoint namespace and perhaps one checkpoint of it."""

    tenant: str
    thread: str
    ns: str = ""
    checkpoint: str | None = None
    subject: str | None = None

    def __str__(self) -> str:
        return f"thread {self.thread!r}" + (f", namespace {self.ns!r}" if self.ns else "")


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation, as the catalogue shows it. `bytes` is what its rows hold, without indexes."""

    tenant: str
    id: str
    subject: str | None
    title: str | None
    status: str
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    turns: int
    checkpoints: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where what an item says comes from. `channel`: ``user``, ``tool``, ``web`` or ``model``."""

    thread: str | None = None
    checkpoint: str | None = None
    message: str | None = None
    speaker: str | None = None
    channel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known about an item, apart from its value.

    `kind` is ``semantic``, ``episodic`` or ``procedural``; `confidence` and `importance` lie between 0 and 1;
    `superseded_by` is the key of the item, in the same namespace, that took its place.
    """

    kind: str | None = None
    source: Source | None = None
    confidence: float | None = None
    importance: float | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    superseded_by: str | None = None
    quarantined: bool = False


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What making vectors anew has done. `switched`: searches use another model than before."""

    model: str
    dims: int
    embedded: int
    switched: bool


@dataclass(frozen=True, slots=True)
class Version:
    """What an item was from `updated_at` until `replaced_at`; None: it still is."""

    value: dict[str, Any]
    version: int
    about: About
    updated_at: datetime
    replaced_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for the items below a prefix. None: what a shorter prefix says.

    `ttl` is in minutes, 0: never. `refresh_on_read`: whether a read begins it anew. `history`: whether
    versions are kept.
    """

    prefix: tuple[str, ...]
    ttl: float | None = None
    refresh_on_read: bool | None = None
    history: bool | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some threads, newest first. `cursor` continues the listing; None: there are no more."""

    threads: tuple[Thread, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a thread, as it was last. `at` and `step`: of the first checkpoint that holds it.

    `present`: it is in the thread's present state.
    """

    message: Any
    at: datetime
    step: int
    present: bool


@dataclass(frozen=True, slots=True)
class ChannelStats:
    """How many entries one log of a thread has, and their stored bytes."""

    channel: str
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ThreadStats:
    """Counts and bytes of one thread."""

    thread: Thread
    namespaces: int
    checkpoints: int
    checkpoint_bytes: int
    writes: int
    write_bytes: int
    channels: tuple[ChannelStats, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Why:
    """Why a model knew something, or did not. `cause` is one of those in docs/reference/why.md.

    `call` is the record of the model call that was looked at; `more` holds what the cause names, as ``threads``.
    """

    cause: str
    text: str
    call: dict[str, Any] | None = None
    more: dict[str, object] = field(default_factory=dict)
