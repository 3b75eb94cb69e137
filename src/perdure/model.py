"""What crosses the layers: small frozen records, with no behaviour of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

__all__ = ["Address", "ChannelStats", "Page", "Thread", "ThreadStats"]


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


@dataclass(frozen=True, slots=True)
class Page:
    """Some threads, newest first. `cursor` continues the listing; None: there are no more."""

    threads: tuple[Thread, ...]
    cursor: str | None = None


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
