"""Pending writes: what the tasks of a checkpoint have produced so far.

Those that come before their checkpoint are staged: seen by nobody, and they make no thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import ormsgpack

from perdure import errors
from perdure.core import ids, views
from perdure.core.entries import Cache, Slot
from perdure.core.logs import Placer, Stored

if TYPE_CHECKING:
    from perdure.core.codec import Codec
    from perdure.core.records import Record
    from perdure.core.unit import Unit
    from perdure.core.views import View
    from perdure.model import Address

__all__ = ["Adopted", "Draft", "StaleError", "Write", "adopt", "dump", "keep", "load", "merge", "put"]

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
    careful: bool = False
    status: str | None = None


async def put(unit: Unit, codec: Codec, draft: Draft) -> Stored | None:
    """Store the writes of a task; return what it placed, None if they were staged for a thread to come.

    A repeated write keeps its first value, a special one (an error, an interrupt) its last.
    """
    address, task = draft.address, ids.pack(draft.task)
    checkpoint = address.checkpoint or ""
    view = await views.open(unit, address, draft.cache.known, checkpoint=checkpoint, careful=draft.careful)
    state = view.state
    if state is None:
        await unit.post("thread_mutex", thread=address.thread)
        await _stage(view, codec, draft, draft.inline())
        return None
    refuse_stale(draft.cache, state.generation, state.epoch)
    seq = await view.seq_of(await view.space(address.ns), checkpoint, fresh=True)
    before = await view.task(seq, task) if seq is not None else None
    placer = Placer(view, codec, draft.cache)
    await placer.place(draft.made)
    new = [Write(index, channel, await placer.write(tree, channel)) for index, channel, tree in draft.items]
    payload = _merged(codec, (draft.path, new), before)
    size = len(payload) - len(before or b"") if seq is not None else 0
    status = draft.status if seq is not None and not address.ns else None
    grown = {"generation": state.generation, "revision": state.revision, "bytes": placer.size + size, "status": status}
    await unit.require("thread_grow", thread=address.thread, **grown)
    view.move()
    await placer.finish()
    if seq is None:
        await _stage(view, codec, draft, new)
    else:
        await _write(view, (seq, task), payload, new=before is None)
    return Stored(state.generation, state.epoch, placer.placed, known=view.known)


async def _write(view: View, key: tuple[int, bytes], payload: bytes, *, new: bool) -> None:
    seq, task = key
    # A relying view that knows of no writes of the task leaves it to the key to say that there are some.
    name = "write_add" if view.relied and new else "write_put"
    await view.unit.post(name, generation=view.generation, seq=seq, task=task, payload=payload)
    if seq in view.known.tasks:
        view.known.tasks[seq][task] = payload


@dataclass(frozen=True, slots=True)
class Adopted:
    """Staged writes on their way to their checkpoint: how many rows wait, and what they become."""

    count: int
    tasks: dict[bytes, bytes]
    size: int
    channels: set[str]


async def adopt(placer: Placer, address: Address, key: tuple[int, str]) -> Adopted:
    """Return the staged writes of a checkpoint that has come, ready for `keep`."""
    seq, checkpoint = key
    view, codec = placer.view, placer.codec
    rows = await view.staged(address.ns, checkpoint)
    size, channels, tasks = 0, set[str](), dict[bytes, bytes]()
    for task, made_for, payload in rows:
        if made_for in {0, view.generation}:
            path, writes = load(codec, payload, address.thread)
            writes = [replace(write, packed=await placer.lighten(write.packed, write.channel)) for write in writes]
            before = await view.task(seq, task)
            tasks[task] = _merged(codec, (path, writes), before)
            size += len(tasks[task]) - len(before or b"")
            channels |= {write.channel for write in writes}
    return Adopted(len(rows), tasks, size, channels)


async def keep(view: View, address: Address, record: Record, adopted: Adopted) -> None:
    """Move staged writes to the checkpoint that they waited for."""
    unit, where = view.unit, {"generation": view.generation, "seq": record.seq}
    await unit.many("write_put", [{**where, "task": task, "payload": made} for task, made in adopted.tasks.items()])
    if adopted.count:
        found = {"thread": address.thread, "ns": address.ns, "checkpoint": ids.pack(record.id)}
        await unit.post("staged_delete_of", **found)
    view.known.staged.pop((address.ns, record.id), None)
    if record.seq in view.known.tasks:
        view.known.tasks[record.seq].update(adopted.tasks)


async def _stage(view: View, codec: Codec, draft: Draft, new: list[Write]) -> None:
    """Let writes wait for their checkpoint."""
    address, task, generation = draft.address, ids.pack(draft.task), view.generation
    waiting = {row[0]: row for row in await view.staged(address.ns, address.checkpoint or "")}
    before = waiting.get(task)
    if before is not None and before[1] == generation:
        _, known = load(codec, before[2], address.thread)
        new = merge(known, new)
    payload = dump(codec, draft.path, new)
    name = "staged_add" if view.relied and before is None else "staged_put"
    key = {"thread": address.thread, "ns": address.ns, "checkpoint": ids.pack(address.checkpoint or ""), "task": task}
    await view.unit.require(name, **key, generation=generation, now=view.unit.now, payload=payload)
    await view.unit.post("staged_expire", before=view.unit.now - KEEP_STAGED)
    waiting[task] = (task, generation, payload)
    view.known.staged[address.ns, address.checkpoint or ""] = list(waiting.values())


def _merged(codec: Codec, new: tuple[str, list[Write]], before: bytes | None) -> bytes:
    """Return the stored bytes of a task's writes together with those it has."""
    path, writes = new
    if before is not None:
        known_path, known = load(codec, before, "")
        path, writes = path or known_path, merge(known, writes)
    return dump(codec, path, writes)


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
