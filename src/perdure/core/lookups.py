"""Lookups: reading checkpoints, alone, page by page, or along the line of their ancestors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from perdure import errors
from perdure.core import ids, looks, pointers, records, spaces, threads, views, writes
from perdure.core.codec import Codec
from perdure.core.entries import Cache, Caches
from perdure.core.records import Record
from perdure.core.unit import Unit
from perdure.engine import Row
from perdure.model import Address

__all__ = ["Before", "Found", "get", "history", "metadata_matches", "named", "page", "seen", "steady"]

P = ParamSpec("P")
T = TypeVar("T")
_LOOKS = 5
_WHOLE = 8 << 20
"""Bytes up to which a thread is read whole at first sight, where following its pointers would take round trips."""


@dataclass(slots=True)
class Found:
    """A stored checkpoint with all that is needed to decode it after the transaction."""

    address: Address
    record: Record
    parent_id: str | None
    writes: list[tuple[str, str, writes.Write]] = field(default_factory=list)  # (path, task, write)
    cache: Cache = field(default_factory=Cache)


def steady(look: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a lookup look again if the thread was pruned or begun anew between two of its questions."""

    @functools.wraps(look)
    async def again(*args: P.args, **given: P.kwargs) -> T:
        for _ in range(_LOOKS):
            try:
                return await look(*args, **given)
            except pointers.MovedError:
                continue
        raise errors.ConflictError(
            f"the thread was pruned or begun anew {_LOOKS} times while it was being read. Try again."
        )

    return again


async def get(unit: Unit, codec: Codec, caches: Caches, address: Address) -> tuple[int, Found | None]:
    """Return the thread's generation (0: no such thread) and the addressed or latest checkpoint."""
    state, found = await seen(unit, codec, caches, address)
    return state.generation if state else 0, found


@steady
async def seen(unit: Unit, codec: Codec, caches: Caches, address: Address) -> tuple[threads.State | None, Found | None]:
    """Return the thread's state, no later than the addressed or latest checkpoint, and that checkpoint."""
    last = caches.last(address.tenant, address.thread).known
    look = await looks.take(unit, address, last)
    if look is None:
        return None, None
    state = look.state
    if look.row is None:
        return state, None
    cache = caches.at(address.tenant, address.thread, state.generation, state.epoch)
    found = Found(address, records.load(codec, look.row, str(address)), None, cache=cache)
    found.parent_id = ids.unpack(look.parent) if look.parent is not None else None
    found.address = _at(address, address.ns, found.record.id)
    _attach(codec, {found.record.seq: found}, look.pending or [])
    known = last.copy() if last is not None and last.at(state) else views.Known(state)
    if not known.listed and look.logs is not None:
        known.logs, known.listed = look.logs, True
    _learn(known, address, found.record, look.pending or [])
    caches.learn(address.tenant, address.thread, known)
    await _fetch(unit, codec, address, [found], state.bytes)
    return state, found


def _learn(known: views.Known, address: Address, record: Record, pending: list[Row]) -> None:
    """Take note of the rows that a look at one checkpoint has brought."""
    if address.ns:
        known.spaces[address.ns] = record.ns
    if address.checkpoint is None:
        known.heads[record.ns] = record.seq
    known.seqs[record.ns, record.id] = record.seq
    known.tasks[record.seq] = {task: payload for _, task, payload in pending}


async def _complete(
    unit: Unit, codec: Codec, cache: Cache, address: Address, rows: list[Row], size: int
) -> list[Found]:
    """Return rows as checkpoints, with their writes, their entries in the cache."""
    found = [Found(address, records.load(codec, row, str(address)), None, cache=cache) for row in rows]
    by_seq = {item.record.seq: item for item in found}
    if not found:
        return found
    of_thread = {"generation": cache.generation}
    parents = sorted(
        {
            (item.record.ns, item.record.parent)
            for item in found
            if item.record.parent is not None and item.record.parent not in by_seq
        }
    )
    numbers = sorted({item.record.ns for item in found} - {0})
    pending, *rest = await unit.together(
        [
            ("writes_between", {**of_thread, "low": min(by_seq), "high": max(by_seq)}),
            *[("checkpoint_id", {**of_thread, "ns": ns, "seq": seq}) for ns, seq in parents],
            *[("space_name", {**of_thread, "ns": ns}) for ns in numbers],
            ("thread_get", {"thread": address.thread}),
        ]
    )
    pointers.refuse_moved(cache, rest.pop())
    named = dict(zip([seq for _, seq in parents], rest, strict=False))
    spaces_of = dict(zip(numbers, rest[len(parents) :], strict=True))
    for item in found:
        item.parent_id = _parent_id(item.record, by_seq, named)
        ns = item.record.ns
        item.address = _at(address, spaces_of[ns][0][0] if ns and spaces_of[ns] else "", item.record.id)
    _attach(codec, by_seq, pending)
    await _fetch(unit, codec, address, found, size)
    return found


async def _fetch(unit: Unit, codec: Codec, address: Address, found: list[Found], size: int) -> None:
    """Bring the entries that checkpoints lead to into their cache; `size` is that of their thread."""
    packed = [
        data for item in found for data in (*item.record.channels.values(), *(w.packed for _, _, w in item.writes))
    ]
    if found:
        cache, where, thread, ahead = found[0].cache, str(address), address.thread, None
        if unit.distant and not cache.size and size <= _WHOLE:
            ahead = await pointers.read_all(unit, codec, cache, packed, where, thread=thread)
        await pointers.fetch(unit, codec, cache, packed, where, thread=thread, ahead=ahead)


def _at(address: Address, ns: str, checkpoint: str) -> Address:
    return type(address)(address.tenant, address.thread, ns, checkpoint, address.subject)


def _parent_id(record: Record, by_seq: Mapping[int, Found], named: Mapping[int, list[Row]]) -> str | None:
    if record.parent is None:
        return None
    if record.parent in by_seq:
        return by_seq[record.parent].record.id
    rows = named.get(record.parent)
    return ids.unpack(rows[0][0]) if rows else None


def _attach(codec: Codec, by_seq: Mapping[int, Found], rows: list[Row]) -> None:
    """Give checkpoints their pending writes, in LangGraph's order."""
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


@steady
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
    return after, await _complete(unit, codec, cache, address, rows, state.bytes)


@steady
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
    return await _complete(unit, codec, cache, address, rows, state.bytes)


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


@steady
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
        found += await _complete(unit, codec, target.cache, target.address, needed, 0)
    return found


def metadata_matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether metadata has every wanted key with an equal value; true and 1 are different."""
    missing = object()
    return all(_same(metadata.get(key, missing), value) for key, value in wanted.items())


def _same(found: object, wanted: object) -> bool:
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted
