"""Lookups: reading checkpoints, alone, page by page, or along the line of their ancestors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perdure.core import ids, logs, records, spaces, threads, writes
from perdure.core.codec import Codec
from perdure.core.entries import Cache, Caches
from perdure.core.records import Record
from perdure.core.unit import Unit
from perdure.engine import Row
from perdure.model import Address

__all__ = ["Before", "Found", "get", "history", "metadata_matches", "named", "page"]


@dataclass(slots=True)
class Found:
    """A stored checkpoint with all that is needed to decode it after the transaction."""

    address: Address
    record: Record
    parent_id: str | None
    writes: list[tuple[str, str, writes.Write]] = field(default_factory=list)  # (path, task, write)
    cache: Cache = field(default_factory=Cache)


async def get(unit: Unit, codec: Codec, caches: Caches, address: Address) -> tuple[int, Found | None]:
    """Return the thread's generation (0: no such thread) and the addressed or latest checkpoint."""
    state = await threads.find(unit, address.thread)
    if state is None:
        return 0, None
    ns = await spaces.find(unit, state.generation, address.ns)
    if ns is None:
        return state.generation, None
    if address.checkpoint is None:
        row = await unit.one("checkpoint_head", generation=state.generation, ns=ns)
    else:
        packed = ids.pack(address.checkpoint)
        row = await unit.one("checkpoint_get", generation=state.generation, ns=ns, id=packed)
    if row is None:
        return state.generation, None
    cache = caches.at(address.tenant, address.thread, state.generation, state.epoch)
    found = await _complete(unit, codec, cache, address, [row])
    return state.generation, found[0]


async def _complete(unit: Unit, codec: Codec, cache: Cache, address: Address, rows: list[Row]) -> list[Found]:
    """Return rows as checkpoints, with their writes, their entries in the cache."""
    where = str(address)
    found = [Found(address, records.load(codec, row, where), None, cache=cache) for row in rows]
    names: dict[int, str] = {0: ""}
    by_seq = {item.record.seq: item for item in found}
    if by_seq:
        await _add_writes(unit, codec, cache.generation, by_seq)
    for item in found:
        record = item.record
        item.parent_id = await _parent_id(unit, cache.generation, record, by_seq)
        if record.ns not in names:
            name = await unit.one("space_name", generation=cache.generation, ns=record.ns)
            names[record.ns] = name[0] if name else ""
        item.address = _at(address, names[record.ns], record.id)
    packed = [
        data for item in found for data in (*item.record.channels.values(), *(w.packed for _, _, w in item.writes))
    ]
    await logs.fetch(unit, codec, cache, packed, where)
    return found


def _at(address: Address, ns: str, checkpoint: str) -> Address:
    return type(address)(address.tenant, address.thread, ns, checkpoint, address.subject)


async def _parent_id(unit: Unit, generation: int, record: Record, by_seq: Mapping[int, Found]) -> str | None:
    if record.parent is None:
        return None
    if record.parent in by_seq:
        return by_seq[record.parent].record.id
    row = await unit.one("checkpoint_id", generation=generation, ns=record.ns, seq=record.parent)
    return ids.unpack(row[0]) if row else None


async def _add_writes(unit: Unit, codec: Codec, generation: int, by_seq: Mapping[int, Found]) -> None:
    rows = await unit.all("writes_between", generation=generation, low=min(by_seq), high=max(by_seq))
    for seq, task, payload in rows:
        item = by_seq.get(seq)
        if item is not None:
            path, found = writes.load(codec, payload, str(item.address))
            item.writes += [(path, ids.unpack(task), write) for write in found]
    for item in by_seq.values():
        item.writes.sort(key=lambda entry: (entry[0], entry[1], entry[2].index))


@dataclass(frozen=True, slots=True)
class Before:
    """The checkpoint that a listing stays before, and the namespace it is in."""

    ns: str
    checkpoint: str


async def page(  # noqa: PLR0913 - one page of one listing
    unit: Unit,
    codec: Codec,
    caches: Caches,
    address: Address,
    *,
    all_spaces: bool,
    below: int,
    limit: int,
    before: Before | None = None,
) -> tuple[int, list[Found]]:
    """Return up to `limit` checkpoints with a seq under `below`, newest first, and the seq to go on below.

    0 to go on below: there are no more.
    """
    state = await threads.find(unit, address.thread)
    if state is None:
        return 0, []
    generation = state.generation
    if all_spaces:
        rows = await unit.all("checkpoint_page_all", generation=generation, below=below, limit=limit)
    else:
        ns = await spaces.find(unit, generation, address.ns)
        if ns is None:
            return 0, []
        rows = await unit.all("checkpoint_page", generation=generation, ns=ns, below=below, limit=limit)
    after = rows[-1][1] if len(rows) == limit else 0
    if before is not None:
        rows = await _only_before(unit, codec, address, generation, rows, before)
    cache = caches.at(address.tenant, address.thread, generation, state.epoch)
    return after, await _complete(unit, codec, cache, address, rows)


async def named(
    unit: Unit,
    codec: Codec,
    caches: Caches,
    address: Address,
    *,
    all_spaces: bool,
    before: Before | None,
) -> list[Found]:
    """Return the checkpoint that an address names, if it is before another one; looked for in every namespace."""
    state = await threads.find(unit, address.thread)
    if state is None or address.checkpoint is None:
        return []
    packed, generation = ids.pack(address.checkpoint), state.generation
    if all_spaces:
        rows = await unit.all("checkpoint_anywhere", generation=generation, id=packed)
    else:
        ns = await spaces.find(unit, generation, address.ns)
        rows = await unit.all("checkpoint_get", generation=generation, ns=ns if ns is not None else -1, id=packed)
    if before is not None:
        rows = await _only_before(unit, codec, address, generation, rows, before)
    cache = caches.at(address.tenant, address.thread, generation, state.epoch)
    return await _complete(unit, codec, cache, address, rows)


async def _only_before(
    unit: Unit, codec: Codec, address: Address, generation: int, rows: list[Row], before: Before
) -> list[Row]:
    """Keep the rows that came before a checkpoint.

    In its own namespace that is a lower seq. In another one, where a slow save may let a parent
    land after its child, it is decided by the parent that the row's metadata names. A checkpoint
    that isn't there any more is compared by its id, which begins with the time.
    """
    ns = await spaces.find(unit, generation, before.ns)
    limit = await spaces.seq_of(unit, generation, ns, before.checkpoint)
    kept = []
    for row in rows:
        if limit is None:
            earlier = ids.unpack(row[2]) < before.checkpoint
        elif row[0] == ns:
            earlier = row[1] < limit
        else:
            parents = records.load(codec, row, str(address)).metadata.get("parents") or {}
            named = await spaces.seq_of(unit, generation, ns, parents.get(before.ns, ""))
            earlier = (row[1] if named is None else named) < limit
        if earlier:
            kept.append(row)
    return kept


async def history(unit: Unit, codec: Codec, caches: Caches, address: Address, channels: list[str]) -> list[Found]:
    """Return the ancestors of a checkpoint, nearest first, as far as `channels` need them.

    The walk ends where every channel has a stored value. It takes a query for each 256 ancestors.
    """
    _, target = await get(unit, codec, caches, address)
    found: list[Found] = []
    remaining = set(channels)
    record = target.record if target else None
    while target is not None and record is not None and record.parent is not None and remaining:
        rows = await unit.all(
            "checkpoint_ancestors", generation=target.cache.generation, ns=record.ns, seq=record.parent, limit=255
        )
        needed: list[Row] = []
        for row in rows:
            record = records.load(codec, row, str(address))
            needed.append(row)
            remaining -= set(record.channels)
            if not remaining:
                break
        if not rows:
            break
        found += await _complete(unit, codec, target.cache, target.address, needed)
    return found


def metadata_matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether metadata has every wanted key with an equal value; true and 1 are different."""
    missing = object()
    return all(_same(metadata.get(key, missing), value) for key, value in wanted.items())


def _same(found: object, wanted: object) -> bool:
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted
