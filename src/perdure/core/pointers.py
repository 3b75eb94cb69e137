"""Pointers: following what stored bytes point to, until a process holds every entry they lead to."""

from __future__ import annotations

from perdure import errors
from perdure.core import decoding, spans, trees
from perdure.core.codec import Codec
from perdure.core.entries import Cache, Slot
from perdure.core.unit import Unit
from perdure.engine import Question, Row

__all__ = ["MovedError", "fetch", "reachable", "read_all", "refuse_moved"]

Spans = dict[int, list[spans.Span]]
"""Positions by log."""
Rows = dict[tuple[int, int], bytes]
"""Stored entries by their places."""


class MovedError(Exception):
    """A thread was pruned or begun anew between two questions of one read."""


async def fetch(  # noqa: PLR0913 - what a read knows of its thread
    unit: Unit,
    codec: Codec,
    cache: Cache,
    packed: list[bytes],
    where: str,
    *,
    thread: str | None = None,
    ahead: Rows | None = None,
) -> Spans:
    """Make the cache hold every entry that stored bytes point to, directly or through others.

    Each round takes one step further, asks for what it lacks together, and for each part of a log
    once. Returns what was reached; what the cache was known to hold, with all it leads to, is not
    followed again. With the name of the thread it raises MovedError if its places have become void.
    `ahead` is what was read of it already.
    """
    reached: Spans = {}
    wanted = _pointed_at(codec, packed, where)
    while wanted:
        new: list[tuple[int, int, int]] = []
        for log, found in wanted.items():
            merged = spans.merge(found)
            behind = [(0, cache.whole.get(log, 0)), *reached.get(log, [])]
            new += [(log, start, end) for start, end in spans.subtract(merged, behind)]
            reached[log] = spans.merge([*reached.get(log, []), *merged])
        _take(codec, cache, new, where, ahead or {})
        await _load(unit, codec, cache, new, where, thread)
        wanted = _pointed_at(codec, [data for part in new for data in _nested(cache, part)], where)
    for log, found in reached.items():
        if found and found[0][0] <= cache.whole.get(log, 0):
            cache.whole[log] = max(cache.whole.get(log, 0), found[0][1])
    return reached


async def read_all(unit: Unit, codec: Codec, cache: Cache, packed: list[bytes], where: str, *, thread: str) -> Rows:
    """Return every entry of a thread, if stored bytes point to any.

    A cache must not hold them for that: a place that nothing points to yet may be filled in the same epoch.
    """
    if not _pointed_at(codec, packed, where):
        return {}
    question: Question = ("entries_of", {"generation": cache.generation})
    rows, states = await unit.together([question, ("thread_get", {"thread": thread})])
    refuse_moved(cache, states)
    return {(log, pos): payload for log, pos, payload in rows}


def refuse_moved(cache: Cache, states: list[Row]) -> None:
    """Raise MovedError if a thread's rows, just read, say that the places a cache knows are void."""
    if not states or states[0][:2] != (cache.generation, cache.epoch):
        raise MovedError


def _pointed_at(codec: Codec, packed: list[bytes], where: str) -> Spans:
    found: Spans = {}
    for data in packed:
        for log, start, count in decoding.places(codec, data, where):
            found.setdefault(log, []).append((start, start + count))
    return found


def _nested(cache: Cache, part: tuple[int, int, int]) -> list[bytes]:
    """Return the entries in a part of a log that point to others."""
    packed = [slot.packed for slot in cache.run(*part)]
    return [data for data in packed if data is not None and data[:1] == trees.NESTED]


def _take(codec: Codec, cache: Cache, parts: list[tuple[int, int, int]], where: str, ahead: Rows) -> None:
    """Let a cache hold what was read already of parts of logs."""
    if ahead:
        for log, start, end in parts:
            for place in [(log, pos) for low, high in cache.missing(log, start, end) for pos in range(low, high)]:
                if place in ahead:
                    cache.place(Slot(codec.open(ahead[place], where=where)), *place)


async def _load(
    unit: Unit, codec: Codec, cache: Cache, parts: list[tuple[int, int, int]], where: str, thread: str | None
) -> None:
    """Load what the cache lacks of parts of logs."""
    lacking = [(log, low, high) for log, start, end in parts for low, high in cache.missing(log, start, end)]
    if not lacking:
        return
    ranges = [
        ("entry_range", {"generation": cache.generation, "log": log, "low": low, "high": high})
        for log, low, high in lacking
    ]
    check = [] if thread is None else [("thread_get", {"thread": thread})]
    found = await unit.together([*ranges, *check])
    if thread is not None:
        refuse_moved(cache, found.pop())
    for (log, low, high), rows in zip(lacking, found, strict=True):
        if len(rows) != high - low:
            raise errors.CorruptValueError(
                f"{where} is damaged: {high - low - len(rows)} entries that it points to are not there. "
                "Restore the database from a backup."
            )
        for pos, payload in rows:
            cache.place(Slot(codec.open(payload, where=where)), log, pos)


async def reachable(unit: Unit, codec: Codec, generation: int, packed: list[bytes], where: str) -> set[tuple[int, int]]:
    """Return the (log, position) of every entry that stored bytes lead to."""
    reached = await fetch(unit, codec, Cache(generation), packed, where)
    return {(log, pos) for log, found in reached.items() for start, end in found for pos in range(start, end)}
