"""Threads: the catalogue, and the life of a thread's generation."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from perdure import errors
from perdure.model import ChannelStats, Page, Thread, ThreadStats

if TYPE_CHECKING:
    from perdure.core.unit import Unit
    from perdure.engine import Row

__all__ = ["State", "check_limit", "copy", "delete", "find", "lock", "page", "rename", "show", "start", "stats", "tag"]

PAGE = 50
LARGEST_PAGE = 1000
STATUSES = ("idle", "interrupted", "forked", "error")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_END = 2**62
_OF_GENERATION = ("checkpoints", "writes", "spaces", "logs", "entries", "digests")


@dataclass(frozen=True, slots=True)
class State:
    """What a write needs to know of its thread."""

    generation: int
    epoch: int
    next_seq: int
    revision: int
    bytes: int = 0
    subject: str | None = None
    forked: int = 0


async def find(unit: Unit, thread: str) -> State | None:
    """Return a thread's state, or None if there is no such thread."""
    row = await unit.one("thread_get", thread=thread)
    return State(*row) if row else None


async def lock(unit: Unit, thread: str) -> State | None:
    """Do what `find` does, and let nobody else change the thread until this work ends."""
    row = await unit.one("thread_lock", thread=thread)
    return State(*row) if row else None


async def start(unit: Unit, thread: str) -> State:
    """Begin a thread, in a generation that no thread ever had."""
    generation = await next_generation(unit)
    await unit.post("thread_mutex", thread=thread)
    await unit.require("thread_insert", thread=thread, generation=generation, now=unit.now)
    return State(generation, 0, 1, 0)


async def next_generation(unit: Unit) -> int:
    """Take a number from the database's one counter of generations; no two threads ever have the same."""
    while True:
        try:
            return unit.generations.pop()
        except IndexError:
            rows = await unit.all("generation_next")
        if not rows:
            msg = "the table 'counters' has lost its row 'generation'; restore the database from a backup"
            raise errors.CorruptDatabaseError(msg)
        unit.generations.extend(row[0] for row in rows)


async def delete(unit: Unit, thread: str) -> bool:
    """Remove a thread and everything in it; whether there was one."""
    state = await lock(unit, thread)
    await unit.post("staged_delete", thread=thread)
    if state is None:
        return False
    for table in _OF_GENERATION:
        await unit.post(f"{table}_delete", generation=state.generation)
    await unit.post("thread_delete", thread=thread)
    return True


async def copy(unit: Unit, source: str, target: str) -> bool:
    """Copy a thread with all its checkpoints, writes and tags; whether there was a source.

    Raises ConflictError if the target exists: nothing is merged or overwritten.
    """
    state = await lock(unit, source)
    if state is None:
        return False
    if await find(unit, target) is not None:
        msg = f"thread {target!r} exists; delete it first, or copy to another id"
        raise errors.ConflictError(msg)
    generation = await next_generation(unit)
    await unit.post("thread_copy", thread=source, target=target, generation=generation, now=unit.now)
    for table in _OF_GENERATION:
        await unit.post(f"{table}_copy", generation=state.generation, target=generation)
    await unit.many(
        "tag_put", [{"thread": target, "tag": name} for (name,) in await unit.all("tags_of", thread=source)]
    )
    return True


async def show(unit: Unit, thread: str) -> Thread | None:
    """Return one thread of the catalogue."""
    row = await unit.one("thread_show", thread=thread)
    return (await _threads(unit, [row]))[0] if row else None


async def page(  # noqa: PLR0913 - the filters of one listing
    unit: Unit,
    *,
    subject: str | None,
    status: str | None,
    tag: str | None,
    title: str | None,
    limit: int,
    cursor: str | None,
) -> Page:
    """Return threads that match every given filter, newest first."""
    updated_at, after = _read_cursor(cursor)
    statement = "thread_page" if subject is None else "thread_page_of_subject"
    given = {"status": status, "tag": tag, "title": title, "updated_at": updated_at, "after": after, "limit": limit + 1}
    if subject is not None:
        given["subject"] = subject
    rows = await unit.all(statement, **given)
    found = await _threads(unit, rows[:limit])
    more = len(rows) > limit > 0
    return Page(tuple(found), _write_cursor(rows[limit - 1]) if more else None)


async def rename(unit: Unit, thread: str, title: str | None) -> None:
    """Give a thread a title. Raises NotFoundError."""
    if not await unit.run("thread_rename", thread=thread, title=title):
        raise missing(thread)


async def tag(unit: Unit, thread: str, add: list[str], remove: list[str]) -> None:
    """Add and remove tags. Raises NotFoundError."""
    if await lock(unit, thread) is None:
        raise missing(thread)
    await unit.many("tag_delete", [{"thread": thread, "tag": name} for name in remove])
    await unit.many("tag_put", [{"thread": thread, "tag": name} for name in add])


async def stats(unit: Unit, thread: str) -> ThreadStats:
    """Return counts and bytes of a thread, for each of its channels too. Raises NotFoundError."""
    shown, state = await show(unit, thread), await find(unit, thread)
    if shown is None or state is None:
        raise missing(thread)
    of_thread = {"generation": state.generation}
    counted = await unit.together([(name, of_thread) for name in ("checkpoint_totals", "write_totals", "logs_of")])
    (checkpoints,), (writes,), logs = counted
    found: dict[str, ChannelStats] = {}
    for name, _, count, size in logs:
        channel = name.partition(":")[0].rstrip("#")
        known = found.get(channel, ChannelStats(channel, 0, 0))
        found[channel] = ChannelStats(channel, known.entries + count, known.bytes + size)
    channels = tuple(sorted(found.values(), key=lambda c: (-c.bytes, c.channel)))
    return ThreadStats(shown, checkpoints[2], checkpoints[0], checkpoints[1], writes[0], writes[1], channels)


def missing(thread: str) -> errors.NotFoundError:
    """Return the error for a thread that isn't there."""
    return errors.NotFoundError(
        f"there is no thread {thread!r} for this tenant; 'perdure threads ls' shows those there are"
    )


def check_limit(limit: object, *, largest: int = LARGEST_PAGE, what: str = "limit") -> int:
    """Return a limit or offset if it is a whole number from 0 to `largest`. Raises InvalidLimitError."""
    if type(limit) is not int or not 0 <= limit <= largest:
        msg = f"{what} must be a whole number from 0 to {largest}, not {limit!r}"
        raise errors.InvalidLimitError(msg)
    return limit


def moment(micros: int) -> datetime:
    """Return microseconds since 1970 as an aware UTC time."""
    return _EPOCH + timedelta(microseconds=micros)


async def _threads(unit: Unit, rows: list[Row]) -> list[Thread]:
    tags = await unit.together([("tags_of", {"thread": row[0]}) for row in rows]) if rows else []
    return [_thread(unit, row, tuple(name for (name,) in found)) for row, found in zip(rows, tags, strict=True)]


def _thread(unit: Unit, row: Row, tags: tuple[str, ...]) -> Thread:
    name, subject, title, status, forked, created, updated, expires, turns, checkpoints, size = row
    return Thread(
        tenant=unit.tenant,
        id=name,
        subject=subject,
        title=title,
        status="forked" if forked and status == "idle" else status,
        tags=tags,
        created_at=moment(created),
        updated_at=moment(updated),
        expires_at=moment(expires) if expires is not None else None,
        turns=turns,
        checkpoints=checkpoints,
        bytes=size,
    )


def _write_cursor(row: Row) -> str:
    text = f"{row[6]}:{row[0]}".encode()
    check = binascii.crc32(text).to_bytes(4, "big")
    return base64.urlsafe_b64encode(check + text).decode().rstrip("=")


def _read_cursor(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return _END, ""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        updated_at, _, thread = raw[4:].decode().partition(":")
        place = int(updated_at), thread
    except (ValueError, TypeError):
        raw, place = b"", (0, "")
    if len(raw) < 5 or not 0 <= place[0] <= _END or binascii.crc32(raw[4:]).to_bytes(4, "big") != raw[:4]:
        raise errors.InvalidCursorError("the cursor was not made by this listing; start again without one")
    return place
