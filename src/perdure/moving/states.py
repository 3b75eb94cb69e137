"""What is moved: threads, the states in them, items; and what it is moved from and to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from perdure.core import moves

__all__ = [
    "Entry",
    "Key",
    "Pack",
    "Pending",
    "Source",
    "State",
    "Target",
    "micros_of",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Pack = Callable[[object], bytes]
"""Gives the same bytes for values that are equal and of the same type."""


@dataclass(frozen=True, slots=True)
class Key:
    """A checkpoint of a thread, and its parent's id, None if that isn't there."""

    ns: str
    id: str
    parent: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"checkpoint {self.id!r}" + (f" of namespace {self.ns!r}" if self.ns else "")


@dataclass(frozen=True, slots=True)
class Pending:
    """One pending write, as a row of a stock table has it."""

    task: str
    path: str
    index: int
    channel: str
    value: Any


@dataclass(frozen=True, slots=True)
class State:
    """A checkpoint with all its values, its metadata and pending writes."""

    key: Key
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    writes: Sequence[Pending]


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of long-term memory. Times are microseconds, `ttl` too; `about` and `fields` are JSON as we keep it."""

    namespace: tuple[str, ...]
    key: str
    value: Any
    created_at: int
    updated_at: int
    expires_at: int | None
    ttl: int | None
    subject: str | None = None
    version: int = 1
    about: str | None = None
    fields: str | None = None

    def __str__(self) -> str:
        return f"item {self.key!r} in {self.namespace!r}"


class Source(Protocol):
    """A database that is read."""

    notes: list[str]
    """What is told at the end: what it holds and this can't take along."""

    def threads(self) -> list[tuple[str, int]]:
        """Return the ids of all threads and how many checkpoints each has."""

    def keys(self, thread: str) -> list[Key]:
        """Return a thread's checkpoints, the oldest first."""

    def state(self, thread: str, key: Key) -> State:
        """Return one state."""

    def about(self, thread: str) -> moves.Description | None:
        """Return what is known of a thread besides its states."""

    def entries(self) -> Iterator[list[Entry]]:
        """Yield the items, some at a time."""


class Target(Protocol):
    """A database that is written. What `begin` has begun is seen by nobody until `finish`."""

    pack: Pack
    """How values are compared: by all that this database can tell apart."""

    unfinished: bool
    """Whether the thread that was begun is not there yet, under its own id."""
    keeps_about: bool
    """Whether there is a place for what is known about an item beside its value, and what it is found by."""
    undoes: bool
    """Whether `discard` undoes all that was written of the thread that was begun."""

    def begin(self, thread: str) -> None:
        """Go on with a thread where an earlier run was interrupted, or begin it."""

    def keys(self, thread: str) -> list[Key]:
        """Return what is there of the thread, the oldest first."""

    def state(self, thread: str, key: Key) -> State:
        """Return a state that is there, as the database has it."""

    def put(self, thread: str, state: State) -> None:
        """Store a state as the thread's newest."""

    def put_writes(self, thread: str, key: Key, writes: Sequence[Pending]) -> None:
        """Store pending writes of a state that is there."""

    def restart(self, thread: str) -> bool:
        """Forget what an interrupted run has left of a thread, and begin it again; whether there was something."""

    def complete(self, thread: str) -> None:
        """Tie up what was loose until all states were there."""

    def finish(self, thread: str, keys: list[Key], about: moves.Description | None) -> None:
        """Let the thread be seen."""

    def discard(self, thread: str, *, fully: bool) -> None:
        """Forget what was begun; with `fully`, also what an interruption would have left to go on with."""

    def entry(self, wanted: Entry) -> Entry | None:
        """Return what is there in the place of an item."""

    def put_entries(self, entries: list[Entry]) -> None:
        """Store items in places where nothing is, all or none."""


def micros_of(moment: str | datetime) -> int:
    """Return microseconds since 1970; a time that names no zone is UTC, as SQLite's are."""
    found = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return ((found if found.tzinfo else found.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND
