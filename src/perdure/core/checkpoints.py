"""Checkpoints: the states of a thread after each step, a chain by parent, ordered by `seq`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from perdure import errors
from perdure.core import ids, records, threads, views, writes
from perdure.core.codec import Codec
from perdure.core.entries import Cache, Slot
from perdure.core.logs import Placer, Stored
from perdure.core.records import Record
from perdure.core.unit import Unit
from perdure.core.views import View
from perdure.engine import OutdatedError
from perdure.model import Address

__all__ = ["Draft", "MovedOnError", "put", "status_of", "turns_of"]

TURNS = "human_turns"
"""The key of a checkpoint's metadata that says how many turns it adds, where its source is no input."""


class MovedOnError(Exception):
    """A thread is not any more what a checkpoint was made of: look again, and make it anew."""


@dataclass(slots=True)
class Draft:
    """A checkpoint to store, encoded but for the places of new entries.

    `trees` are the channels with a new version; `encode` gives the tree of any other channel whose
    version the parent does not share. `read` is the generation this process last saw the thread
    in, 0 if it saw none. `addressed`: the run asked for an earlier checkpoint, so a fork is meant.
    `seen` is the generation and revision that the thread must still be at (zeros: there must be none).
    `careful`: what the process remembers has misled it, so everything is asked.
    """

    address: Address
    record: Record
    trees: Mapping[str, object]
    made: list[Slot]
    cache: Cache
    encode: Callable[[str], object]
    others: tuple[str, ...] = ()
    read: int = 0
    careful: bool = False
    run: str | None = None
    addressed: bool = False
    turns: int = 0
    seen: tuple[int, int] | None = None
    title: str | None = None


async def put(unit: Unit, codec: Codec, draft: Draft) -> Stored:
    """Store a checkpoint as its namespace's newest; return what it placed.

    Raises FencedError if the parent it names, or the thread this process had read, is gone, and
    MovedOnError if the thread is not what was `seen`.
    """
    address, record = draft.address, draft.record
    begins = address.checkpoint is None and not draft.read
    view = await views.open(
        unit, address, draft.cache.known, checkpoint=record.id, careful=draft.careful, begins=begins
    )
    _refuse_moved(draft, view)
    _refuse_fenced(draft, view)
    state = view.known.state = view.state or await threads.start(unit, address.thread)
    context = await _context(view, draft, state)
    writes.refuse_stale(draft.cache, context.generation, context.epoch)
    record.ns, record.parent = context.ns, context.parent
    record.seq = context.same or context.next_seq
    placer = Placer(view, codec, draft.cache)
    await _place_channels(placer, draft, await _parent(unit, codec, draft, context))
    payload = records.dump(codec, record)
    if not context.same:
        view.known.tasks[record.seq] = {}
    adopted = await writes.adopt(placer, address, (record.seq, record.id))
    new = 0 if context.same else 1
    await unit.require(
        "thread_touch",
        thread=address.thread,
        generation=context.generation,
        revision=context.revision,
        now=unit.now,
        seqs=new,
        replaced=1 - new,
        turns=draft.turns if new else 0,
        bytes=len(payload) + placer.size + adopted.size,
        status=None if address.ns else status_of(adopted.channels),
        forked=int(bool(new) and not draft.addressed and context.head != record.parent),
        title=draft.title,
        subject=address.subject,
        ns=address.ns,
        checkpoint=ids.pack(record.id),
        staged=adopted.count,
    )
    view.move(seqs=new, replaced=1 - new)
    await placer.finish()
    await _write_row(unit, record, context, (draft.run, payload))
    _remember(view, draft, context)
    await writes.keep(view, address, record, adopted)
    return Stored(context.generation, context.epoch + 1 - new, placer.placed, record, view.known)


async def _write_row(unit: Unit, record: Record, context: _Context, given: tuple[str | None, bytes]) -> None:
    run, payload = given
    row = {"generation": context.generation, "ns": record.ns, "seq": record.seq, "parent": record.parent}
    if context.space is not None:
        await unit.post("space_put", generation=context.generation, ns=record.ns, name=context.space)
    if context.same:
        await unit.post("checkpoint_replace", **row, run=run, payload=payload)
    else:
        await unit.post("checkpoint_put", **row, id=ids.pack(record.id), run=run, payload=payload)


def _remember(view: View, draft: Draft, context: _Context) -> None:
    """Take note of the rows that a checkpoint adds."""
    known, record = view.known, draft.record
    if context.space is not None:
        known.spaces[context.space] = record.ns
    if not context.same:
        known.heads[record.ns] = record.seq
    known.seqs.pop((record.ns, record.id), None)
    known.seqs[record.ns, record.id] = record.seq


def status_of(channels: set[str]) -> str:
    """Return the status of a thread whose newest checkpoint has writes to these channels."""
    if "__interrupt__" in channels:
        return "interrupted"
    return "error" if "__error__" in channels else "idle"


def turns_of(metadata: Mapping[str, Any]) -> int:
    """Return how many turns a checkpoint of the root begins."""
    if metadata.get("source") == "input":
        return 1
    added = metadata.get(TURNS)
    return added if type(added) is int and added > 0 else 0


@dataclass(frozen=True, slots=True)
class _Context:
    """What a new checkpoint finds. `head`, `same` and `parent` are seqs: of its namespace's newest
    checkpoint, of itself if it is there already, of the checkpoint it follows. `space` is the name
    of its namespace if that is new.
    """

    generation: int
    epoch: int
    next_seq: int
    revision: int
    ns: int
    head: int | None
    same: int | None
    parent: int | None
    space: str | None


async def _context(view: View, draft: Draft, state: threads.State) -> _Context:
    address = draft.address
    ns = await view.space(address.ns)
    space = None
    if ns is None:
        ns, space = await view.new_space(), address.ns
        view.known.heads[ns] = 0
    parent = await view.seq_of(ns, address.checkpoint)
    if parent is None and address.checkpoint is not None:
        raise OutdatedError if view.relied else _no_parent(address)
    head = parent
    if parent is None or parent + 1 != state.next_seq:
        head = await view.head(ns)
    same = await view.seq_of(ns, draft.record.id, fresh=True)
    if same is not None and parent is not None and parent >= same:
        raise OutdatedError if view.relied else _no_order(draft)
    return _Context(state.generation, state.epoch, state.next_seq, state.revision, ns, head, same, parent, space)


def _refuse_moved(draft: Draft, view: View) -> None:
    state = view.state
    if draft.seen is not None and draft.seen != ((state.generation, state.revision) if state else (0, 0)):
        raise MovedOnError


def _refuse_fenced(draft: Draft, view: View) -> None:
    address, state = draft.address, view.state
    if address.checkpoint is None and draft.read and (state is None or state.generation != draft.read):
        if view.relied:
            raise OutdatedError
        raise errors.FencedError(
            f"thread {address.thread!r} was deleted or begun anew since this process read it; "
            "nothing was stored. Start a new run to begin the thread anew."
        )
    if address.checkpoint is not None and state is None:
        raise OutdatedError if view.relied else _no_parent(address)


async def _parent(unit: Unit, codec: Codec, draft: Draft, context: _Context) -> Record | None:
    if context.parent is None:
        return None
    known = draft.cache.heads.get(draft.address.ns)
    if known is not None and known.seq == context.parent and known.id == draft.address.checkpoint:
        return known
    row = await unit.one("checkpoint_at", generation=context.generation, ns=context.ns, seq=context.parent)
    return records.load(codec, row, str(draft.address)) if row else None


def _no_parent(address: Address) -> errors.FencedError:
    msg = (
        f"thread {address.thread!r} has no checkpoint {address.checkpoint!r} (it was deleted or pruned), "
        "so a step that follows it was not stored. Start a new run from the thread's present state."
    )
    return errors.FencedError(msg)


def _no_order(draft: Draft) -> errors.InvalidInputError:
    return errors.InvalidInputError(
        f"checkpoint {draft.record.id!r} is there already and can't follow {draft.address.checkpoint!r}, "
        "which is the same or came after it; give the new state an id of its own"
    )


async def _place_channels(placer: Placer, draft: Draft, parent: Record | None) -> None:
    """Give the new channels their places, and take over or encode the others."""
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
