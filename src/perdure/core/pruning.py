"""Pruning: removing checkpoints from a thread and keeping what remains whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.core import checkpoints, pointers, records, threads, writes
from perdure.model import Address

if TYPE_CHECKING:
    from perdure.core.codec import Codec
    from perdure.core.records import Record
    from perdure.core.unit import Unit

__all__ = ["delete_runs", "keep_latest", "remove"]

Key = tuple[int, int]
"""(namespace number, seq)."""


async def keep_latest(unit: Unit, codec: Codec, thread: str) -> int:
    """Keep the newest checkpoint of each namespace and what it needs; return how many went.

    A channel that is rebuilt from writes (`DeltaChannel`) needs its ancestors back to a snapshot.
    """
    state = await threads.lock(unit, thread)
    if state is None:
        return 0
    rows = await unit.all("checkpoint_rows", generation=state.generation)
    found = {(row[0], row[1]): records.load(codec, row, f"thread {thread!r}") for row in rows}
    keep: set[Key] = set()
    for ns, seq in await unit.all("checkpoint_heads", generation=state.generation):
        keep |= _needed(found, (ns, seq))
    return await remove(unit, codec, thread, set(found) - keep)


def _needed(found: dict[Key, Record], head: Key) -> set[Key]:
    needed = {head}
    record = found[head]
    counted = record.metadata.get("counters_since_delta_snapshot") or {}
    remaining = {name for name in counted if name not in record.channels}
    while remaining and record.parent is not None and (record.ns, record.parent) in found:
        record = found[record.ns, record.parent]
        needed.add((record.ns, record.seq))
        remaining -= set(record.channels)
    return needed


async def delete_runs(unit: Unit, codec: Codec, runs: list[str]) -> int:
    """Remove every checkpoint that these runs made; return how many went."""
    gone = 0
    for run in runs:
        for (thread,) in await unit.all("run_threads", run=run):
            state = await threads.lock(unit, thread)
            if state is not None:
                rows = await unit.all("run_checkpoints", generation=state.generation, run=run)
                gone += await remove(unit, codec, thread, {(ns, seq) for ns, seq in rows}, turns=True)
    return gone


async def remove(unit: Unit, codec: Codec, thread: str, doomed: set[Key], *, turns: bool = False) -> int:
    """Remove checkpoints; survivors get the nearest ancestor that is left as parent, or none.

    `turns`: those that go take their turns with them. A thread that is only pruned keeps its count.
    """
    state = await threads.lock(unit, thread)
    if state is None or not doomed:
        return 0
    generation = state.generation
    links = {(ns, seq): parent for ns, seq, parent in await unit.all("checkpoint_links", generation=generation)}
    if doomed >= set(links):
        await threads.delete(unit, thread)
        return len(doomed)
    inputs = await _inputs(unit, codec, generation, doomed) if turns else 0
    for (ns, seq), parent in links.items():
        if (ns, seq) in doomed:
            await unit.post("checkpoint_delete", generation=generation, ns=ns, seq=seq)
            await unit.post("writes_delete_of", generation=generation, seq=seq)
        elif parent is not None and (ns, parent) in doomed:
            ancestor: int | None = parent
            while ancestor is not None and (ns, ancestor) in doomed:
                ancestor = links.get((ns, ancestor))
            await unit.post("checkpoint_reparent", generation=generation, ns=ns, seq=seq, parent=ancestor)
    await _collect(unit, codec, thread, state)
    parents = [parent for (ns, seq), parent in links.items() if (ns, seq) not in doomed and parent is not None]
    status = await _status(unit, codec, generation)
    forked = int(state.forked and len(parents) > len(set(parents)))
    await unit.post("thread_recount", thread=thread, turns=inputs, status=status, forked=forked)
    return len(doomed)


async def _inputs(unit: Unit, codec: Codec, generation: int, doomed: set[Key]) -> int:
    """Return how many turns these checkpoints began."""
    rows = await unit.all("checkpoint_rows", generation=generation)
    found = [records.load(codec, row, "a thread") for row in rows if row[0] == 0 and (0, row[1]) in doomed]
    return sum(checkpoints.turns_of(record.metadata) for record in found)


async def _status(unit: Unit, codec: Codec, generation: int) -> str:
    """Return what the newest checkpoint of the root says of a thread."""
    head = await unit.one("checkpoint_head_seq", generation=generation, ns=0)
    rows = await unit.all("writes_of", generation=generation, seq=head[0]) if head else []
    found = [write.channel for _, payload in rows for write in writes.load(codec, payload, "a thread")[1]]
    return checkpoints.status_of(set(found))


async def _collect(unit: Unit, codec: Codec, thread: str, state: threads.State) -> None:
    """Remove the entries that nothing points to any more."""
    where = str(Address(unit.tenant, thread))
    generation = state.generation
    packed: list[bytes] = []
    for row in await unit.all("checkpoint_rows", generation=generation):
        packed += records.load(codec, row, where).channels.values()
    payloads = [row[1] for row in await unit.all("writes_all", generation=generation)]
    payloads += [row[0] for row in await unit.all("staged_of_thread", thread=thread, generation=generation)]
    for payload in payloads:
        packed += [write.packed for write in writes.load(codec, payload, where)[1]]
    kept = await pointers.reachable(unit, codec, generation, packed, where)
    of_thread = {"generation": generation}
    stored = await unit.all("entry_places", generation=generation)
    await unit.many("entry_delete", [{**of_thread, "log": at[0], "pos": at[1]} for at in stored if at not in kept])
    known = await unit.all("digests_of", generation=generation)
    await unit.many("digest_delete", [{**of_thread, "digest": key} for key, *at in known if tuple(at) not in kept])
