"""Pending writes: what the tasks of a checkpoint have produced so far.

Those that come before their checkpoint are staged: seen by nobody, and they make no thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import ormsgpack

from perdure import errors
from perdure.core import ids, spaces, threads
from perdure.core.entries import Cache, Slot
from perdure.core.logs import Placer, Stored

if TYPE_CHECKING:
    from perdure.core.codec import Codec
    from perdure.core.unit import Unit
    from perdure.model import Address

__all__ = ["Draft", "StaleError", "Write", "adopt_staged", "dump", "load", "merge", "put"]

KEEP_STAGED = 24 * 3600 * 1_000_000
"""Microseconds for which writes wait for their checkpoint."""


class StaleError(Exception):
    """The process knew the thread in another generation or epoch: encode again and repeat."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write: its place among the task's writes (below zero: the last one wins), channel, stored bytes."""

    index: int
    channel: str
    packed: bytes


@dataclass(slots=True)
class Draft:
    """The writes of one call, encoded but for the places of new entries.

    `inline` returns the same writes without pointing to any entry, for a thread that isn't there yet.
    """

    address: Address
    task: str
    path: str
    items: list[tuple[int, str, object]]
    made: list[Slot]
    cache: Cache
    inline: Callable[[], list[Write]]
    status: str | None = None


async def put(unit: Unit, codec: Codec, draft: Draft) -> Stored | None:
    """Store the writes of a task; return what it placed, None if they were staged for a thread to come.

    A repeated write keeps its first value, a special one (an error, an interrupt) its last.
    """
    address, task = draft.address, ids.pack(draft.task)
    state = await threads.find(unit, address.thread)
    if state is None:
        await _stage(unit, codec, draft, draft.inline(), 0)
        return None
    generation = state.generation
    refuse_stale(draft.cache, generation, state.epoch)
    ns = await spaces.find(unit, generation, address.ns)
    seq = await spaces.seq_of(unit, generation, ns, address.checkpoint or "")
    row = await unit.one("write_get", generation=generation, seq=seq, task=task) if seq is not None else None
    before = row[0] if row else None
    placer = Placer(unit, codec, generation, draft.cache)
    await placer.place(draft.made)
    new = [Write(index, channel, await placer.write(tree, channel)) for index, channel, tree in draft.items]
    size = 0
    if seq is None:
        await _stage(unit, codec, draft, new, generation)
    else:
        size = await _store(unit, codec, (generation, seq, task), (draft.path, new), before)
    await placer.finish()
    status = draft.status if seq is not None and not address.ns else None
    await unit.run("thread_grow", thread=address.thread, bytes=placer.size + size, status=status)
    return Stored(generation, state.epoch, placer.placed)


async def adopt_staged(unit: Unit, codec: Codec, address: Address, key: tuple[int, int, str]) -> tuple[int, set[str]]:
    """Move the staged writes of a checkpoint that has come; return their bytes and channels."""
    generation, seq, checkpoint = key
    found = {"thread": address.thread, "ns": address.ns, "checkpoint": ids.pack(checkpoint)}
    size, channels = 0, set()
    rows = await unit.all("staged_of", **found)
    placer = Placer(unit, codec, generation, Cache())
    for task, made_for, payload in rows:
        if made_for in {0, generation}:
            path, writes = load(codec, payload, address.thread)
            writes = [replace(write, packed=await placer.lighten(write.packed, write.channel)) for write in writes]
            found_before = await unit.one("write_get", generation=generation, seq=seq, task=task)
            before = found_before[0] if found_before else None
            size += await _store(unit, codec, (generation, seq, task), (path, writes), before)
            channels |= {write.channel for write in writes}
    if rows:
        await unit.run("staged_delete_of", **found)
        await placer.finish()
    return size + placer.size, channels


async def _stage(unit: Unit, codec: Codec, draft: Draft, new: list[Write], generation: int) -> None:
    address = draft.address
    key = {
        "thread": address.thread,
        "ns": address.ns,
        "checkpoint": ids.pack(address.checkpoint or ""),
        "task": ids.pack(draft.task),
    }
    row = await unit.one("staged_get", **key)
    if row is not None and row[0] == generation:
        _, known = load(codec, row[1], address.thread)
        new = merge(known, new)
    payload = dump(codec, draft.path, new)
    await unit.run("staged_put", **key, generation=generation, now=unit.now, payload=payload)
    await unit.run("staged_expire", before=unit.now - KEEP_STAGED)


async def _store(
    unit: Unit, codec: Codec, key: tuple[int, int, bytes], new: tuple[str, list[Write]], before: bytes | None
) -> int:
    """Store a task's writes with those it has; return by how many bytes the row grew."""
    generation, seq, task = key
    path, writes = new
    if before is not None:
        known_path, known = load(codec, before, "")
        path, writes = path or known_path, merge(known, writes)
    payload = dump(codec, path, writes)
    await unit.run("write_put", generation=generation, seq=seq, task=task, payload=payload)
    return len(payload) - len(before or b"")


def merge(known: list[Write], new: list[Write]) -> list[Write]:
    """Return both, one for each index: the first of the normal ones, the last of the special ones."""
    found = {write.index: write for write in known}
    for write in new:
        if write.index < 0 or write.index not in found:
            found[write.index] = write
    return sorted(found.values(), key=lambda write: write.index)


def dump(codec: Codec, path: str, writes: list[Write]) -> bytes:
    """Return the stored bytes of one task's writes."""
    return codec.seal(ormsgpack.packb([path, [[w.index, w.channel, w.packed] for w in writes]]))


def load(codec: Codec, payload: bytes, where: str) -> tuple[str, list[Write]]:
    """Return the task path and writes of stored bytes."""
    try:
        path, writes = ormsgpack.unpackb(codec.open(payload, where=where))
        return path, [Write(*write) for write in writes]
    except (TypeError, ValueError) as error:
        msg = f"{where}: stored writes have another form ({error})"
        raise errors.CorruptValueError(msg) from error


def refuse_stale(cache: Cache, generation: int, epoch: int) -> None:
    """Raise StaleError if a draft may point to entries of another generation or epoch."""
    if cache.generation and (cache.generation, cache.epoch) != (generation, epoch):
        raise StaleError
