"""Checkpoints: the states of a thread after each step, a chain by parent, ordered by `seq`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perdure import errors
from perdure.core import ids, logs, records, threads, writes
from perdure.core.entries import Cache, Caches, Slot
from perdure.core.logs import Placer, Stored
from perdure.core.records import Record

if TYPE_CHECKING:
    from perdure.core.codec import Codec
    from perdure.core.unit import Unit
    from perdure.engine import Row
    from perdure.model import Address

__all__ = ["Before", "Draft", "Found", "get", "history", "page", "put"]


@dataclass(slots=True)
class Draft:
    """A checkpoint to store, encoded but for the places of new entries.

    `trees` are the channels with a new version; `encode` gives the tree of any other channel whose
    version the parent does not share. `read` is the generation this process last saw the thread
    in, 0 if it saw none. `addressed`: the run asked for an earlier checkpoint, so a fork is meant.
    """

    address: Address
    record: Record
    trees: Mapping[str, object]
    made: list[Slot]
    cache: Cache
    encode: Callable[[str], object]
    others: tuple[str, ...] = ()
    read: int = 0
    run: str | None = None
    addressed: bool = False
    turn: bool = False
    title: str | None = None


@dataclass(slots=True)
class Found:
    """A stored checkpoint with all that is needed to decode it after the transaction."""

    address: Address
    record: Record
    parent_id: str | None
    writes: list[tuple[str, str, writes.Write]] = field(default_factory=list)  # (path, task, write)
    cache: Cache = field(default_factory=Cache)


async def put(unit: Unit, codec: Codec, draft: Draft) -> Stored:
    """Store a checkpoint as its namespace's newest; return what it placed.

    Raises FencedError if the parent it names, or the thread this process had read, is gone.
    """
    address, record = draft.address, draft.record
    context = await _context(unit, draft)
    writes.refuse_stale(draft.cache, context.generation, context.epoch)
    generation = context.generation
    record.ns, record.parent = context.ns, context.parent
    record.seq = context.same or context.next_seq
    placer = Placer(unit, codec, generation, draft.cache)
    await _place_channels(placer, draft, await _parent(unit, codec, draft, context))
    payload = records.dump(codec, record)
    await _write_row(unit, record, context, (draft.run, payload))
    size, pending = 0, set[str]()
    if context.staged:
        size, pending = await writes.adopt_staged(unit, codec, address, (generation, record.seq, record.id))
    new = 0 if context.same else 1
    await unit.run(
        "thread_touch",
        thread=address.thread,
        now=unit.now,
        seqs=new,
        replaced=1 - new,
        turns=new if draft.turn else 0,
        bytes=len(payload) + placer.size + size,
        status=None if address.ns else status_of(pending),
        forked=int(bool(new) and not draft.addressed and context.head != record.parent),
        title=draft.title,
        subject=address.subject,
    )
    return Stored(generation, context.epoch + 1 - new, placer.placed, record)


async def _write_row(unit: Unit, record: Record, context: _Context, given: tuple[str | None, bytes]) -> None:
    run, payload = given
    row = {"generation": context.generation, "ns": record.ns, "seq": record.seq, "parent": record.parent}
    if context.same:
        await unit.run("checkpoint_replace", **row, run=run, payload=payload)
    else:
        await unit.run("checkpoint_put", **row, id=ids.pack(record.id), run=run, payload=payload)


def status_of(channels: set[str]) -> str:
    """Return the status of a thread whose newest checkpoint has writes to these channels."""
    if "__interrupt__" in channels:
        return "interrupted"
    return "error" if "__error__" in channels else "idle"


@dataclass(frozen=True, slots=True)
class _Context:
    """What a new checkpoint finds. `head`, `same` and `parent` are seqs: of its namespace's newest
    checkpoint, of itself if it is there already, of the checkpoint it follows.
    """

    generation: int
    epoch: int
    next_seq: int
    ns: int
    head: int | None
    same: int | None
    parent: int | None
    staged: bool


async def _context(unit: Unit, draft: Draft) -> _Context:
    address, packed = draft.address, ids.pack(draft.record.id)
    state = await threads.find(unit, address.thread)
    _refuse_fenced(draft, state)
    if state is None:
        state = await threads.start(unit, address.thread)
    generation = state.generation
    ns = await _space(unit, generation, address.ns)
    parent = None
    if address.checkpoint is not None:
        parent = await _seq(unit, generation, ns, address.checkpoint)
        if parent is None:
            raise _no_parent(address)
    head = parent
    if parent is None or parent + 1 != state.next_seq:
        row = await unit.one("checkpoint_head_seq", generation=generation, ns=ns)
        head = row[0] if row else None
    same = await unit.one("checkpoint_seq", generation=generation, ns=ns, id=packed)
    staged = await unit.one("staged_any", thread=address.thread, ns=address.ns, checkpoint=packed)
    return _Context(
        generation, state.epoch, state.next_seq, ns, head, same[0] if same else None, parent, staged is not None
    )


async def _space(unit: Unit, generation: int, name: str) -> int:
    ns = await writes.space(unit, generation, name)
    if ns is None:
        row = await unit.one("space_put", generation=generation, name=name)
        ns = int(row[0]) if row else 0
    return ns


def _refuse_fenced(draft: Draft, state: threads.State | None) -> None:
    address = draft.address
    if address.checkpoint is None and draft.read and (state is None or state.generation != draft.read):
        raise errors.FencedError(
            f"thread {address.thread!r} was deleted or begun anew since this process read it; "
            "nothing was stored. Start a new run to begin the thread anew."
        )
    if address.checkpoint is not None and state is None:
        raise _no_parent(address)


async def _parent(unit: Unit, codec: Codec, draft: Draft, context: _Context) -> Record | None:
    if context.parent is None:
        return None
    known = draft.cache.heads.get(draft.address.ns)
    if known is not None and known.seq == context.parent and known.id == draft.address.checkpoint:
        return known
    row = await unit.one("checkpoint_at", generation=context.generation, ns=context.ns, seq=context.parent)
    return records.load(codec, row, where_of(draft.address)) if row else None


def _no_parent(address: Address) -> errors.FencedError:
    msg = (
        f"thread {address.thread!r} has no checkpoint {address.checkpoint!r} (it was deleted or pruned), "
        "so a step that follows it was not stored. Start a new run from the thread's present state."
    )
    return errors.FencedError(msg)


async def _place_channels(placer: Placer, draft: Draft, parent: Record | None) -> None:
    """Write the new channels, and take over or encode the others."""
    record = draft.record
    trees = dict(draft.trees)
    for name in draft.others:
        version = record.versions.get(name)
        if (
            parent is not None
            and version is not None
            and parent.versions.get(name) == version
            and name in parent.channels
        ):
            record.channels[name] = parent.channels[name]
        else:
            trees[name] = draft.encode(name)
    await placer.place(draft.made)
    for name, tree in trees.items():
        record.channels[name] = await placer.write(tree, name)
    await placer.finish()


# Reading


async def get(unit: Unit, codec: Codec, caches: Caches, address: Address) -> tuple[int, Found | None]:
    """Return the thread's generation (0: no such thread) and the addressed or latest checkpoint."""
    state = await threads.find(unit, address.thread)
    if state is None:
        return 0, None
    ns = await writes.space(unit, state.generation, address.ns)
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
    where = where_of(address)
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
            path, found = writes.load(codec, payload, where_of(item.address))
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
        ns = await writes.space(unit, generation, address.ns)
        if ns is None:
            return 0, []
        rows = await unit.all("checkpoint_page", generation=generation, ns=ns, below=below, limit=limit)
    after = rows[-1][1] if len(rows) == limit else 0
    if before is not None:
        rows = await _only_before(unit, codec, address, generation, rows, before)
    cache = caches.at(address.tenant, address.thread, generation, state.epoch)
    return after, await _complete(unit, codec, cache, address, rows)


async def _only_before(
    unit: Unit, codec: Codec, address: Address, generation: int, rows: list[Row], before: Before
) -> list[Row]:
    """Keep the rows that came before a checkpoint.

    In its own namespace that is a lower seq. In another one, where a slow save may let a parent
    land after its child, it is decided by the parent that the row's metadata names. A checkpoint
    that isn't there any more is compared by its id, which begins with the time.
    """
    ns = await writes.space(unit, generation, before.ns)
    limit = await _seq(unit, generation, ns, before.checkpoint)
    kept = []
    for row in rows:
        if limit is None:
            earlier = ids.unpack(row[2]) < before.checkpoint
        elif row[0] == ns:
            earlier = row[1] < limit
        else:
            parents = records.load(codec, row, where_of(address)).metadata.get("parents") or {}
            named = await _seq(unit, generation, ns, parents.get(before.ns, ""))
            earlier = (row[1] if named is None else named) < limit
        if earlier:
            kept.append(row)
    return kept


async def _seq(unit: Unit, generation: int, ns: int | None, checkpoint: str) -> int | None:
    if ns is None or not checkpoint:
        return None
    row = await unit.one("checkpoint_seq", generation=generation, ns=ns, id=ids.pack(checkpoint))
    return int(row[0]) if row else None


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
            record = records.load(codec, row, where_of(address))
            needed.append(row)
            remaining -= set(record.channels)
            if not remaining:
                break
        if not rows:
            break
        found += await _complete(unit, codec, target.cache, target.address, needed)
    return found


def where_of(address: Address) -> str:
    """Return how errors name a place."""
    return f"thread {address.thread!r}" + (f", namespace {address.ns!r}" if address.ns else "")


def metadata_matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether metadata has every wanted key with an equal value; true and 1 are different."""
    missing = object()
    return all(_same(metadata.get(key, missing), value) for key, value in wanted.items())


def _same(found: object, wanted: object) -> bool:
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted
