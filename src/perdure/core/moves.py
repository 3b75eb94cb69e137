"""Moves: what moving threads and items between databases needs that a running agent does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perdure import errors
from perdure.core import abouts, ids, namespaces, spaces, threads

if TYPE_CHECKING:
    from perdure.core.unit import Unit
    from perdure.engine import Row

__all__ = [
    "Description",
    "Item",
    "Place",
    "describe",
    "described",
    "item",
    "items",
    "keys",
    "known",
    "left_behind",
    "put_items",
    "rename",
    "reparent",
]

PAGE = 200


@dataclass(frozen=True, slots=True)
class Place:
    """A checkpoint: its namespace, id and its parent's id."""

    ns: str
    id: str
    parent: str | None


@dataclass(frozen=True, slots=True)
class Description:
    """All that the catalogue says of a thread. Times are microseconds."""

    title: str | None
    subject: str | None
    tags: tuple[str, ...]
    created_at: int
    updated_at: int
    expires_at: int | None
    turns: int
    forked: int
    status: str


@dataclass(frozen=True, slots=True)
class Item:
    """An item with all that is moved of it. Times and `ttl` are microseconds, `about` and `fields` JSON."""

    namespace: tuple[str, ...]
    key: str
    subject: str | None
    version: int
    created_at: int
    updated_at: int
    expires_at: int | None
    ttl: int | None
    about: str | None
    fields: str | None
    value: bytes
    projection: str = ""


async def known(unit: Unit, after: str) -> list[tuple[str, int]]:
    """Return a page of threads after one, by id, with the numbers of their checkpoints."""
    return [(name, count) for name, count in await unit.all("moves_threads", after=after, limit=PAGE)]


async def keys(unit: Unit, thread: str) -> list[Place]:
    """Return a thread's checkpoints, the oldest first; none if there is no such thread."""
    state = await threads.find(unit, thread)
    if state is None:
        return []
    rows = await unit.all("moves_keys", generation=state.generation)
    by_seq = {seq: ids.unpack(name) for _, name, seq, _ in rows}
    return [Place(ns, by_seq[seq], by_seq.get(parent)) for ns, _, seq, parent in rows]


async def reparent(unit: Unit, thread: str, place: Place) -> None:
    """Give a checkpoint the parent that its place names.

    Raises NotFoundError if either is not there, InvalidInputError if the parent follows the checkpoint itself.
    """
    state = await threads.lock(unit, thread)
    generation = state.generation if state else 0
    ns = await spaces.find(unit, generation, place.ns)
    seq = await spaces.seq_of(unit, generation, ns, place.id)
    parent = await spaces.seq_of(unit, generation, ns, place.parent or "")
    if state is None or seq is None or parent is None:
        raise errors.NotFoundError(f"thread {thread!r} has no checkpoint {place.id!r} or {place.parent!r}")
    links = {(number, at): above for number, at, above in await unit.all("checkpoint_links", generation=generation)}
    ancestor: int | None = parent
    while ancestor is not None:
        if ancestor == seq:
            raise errors.InvalidInputError(f"checkpoint {place.id!r} of thread {thread!r} is among its own ancestors")
        ancestor = links.get((ns, ancestor))
    await unit.post("checkpoint_reparent", generation=generation, ns=ns, seq=seq, parent=parent)
    await unit.require(
        "thread_grow", thread=thread, generation=generation, revision=state.revision, bytes=0, status=None
    )


async def rename(unit: Unit, thread: str, target: str) -> None:
    """Give a thread another id. Raises ConflictError if there is a thread of that id."""
    await threads.lock(unit, thread)
    await unit.post("thread_mutex", thread=target)
    if await threads.find(unit, target) is not None:
        raise errors.ConflictError(f"thread {target!r} was begun meanwhile; nothing was changed. Repeat the command")
    await unit.run("moves_rename", thread=thread, target=target)


async def described(unit: Unit, thread: str) -> Description | None:
    """Return what the catalogue says of a thread."""
    shown, state = await unit.one("thread_show", thread=thread), await threads.find(unit, thread)
    if shown is None or state is None:
        return None
    _, subject, title, status, forked, created, updated, expires, turns, *_ = shown
    tags = tuple(name for (name,) in await unit.all("tags_of", thread=thread))
    return Description(title, subject, tags, created, updated, expires, turns, forked, status)


async def describe(unit: Unit, thread: str, given: Description) -> None:
    """Let the catalogue say this of a thread."""
    await unit.run(
        "moves_describe",
        thread=thread,
        title=given.title,
        subject=given.subject,
        status=given.status,
        forked=given.forked,
        turns=given.turns,
        created_at=given.created_at,
        updated_at=given.updated_at,
        expires_at=given.expires_at,
    )
    for name in given.tags:
        await unit.run("tag_put", thread=thread, tag=name)


async def items(unit: Unit, after: tuple[str, str]) -> list[Item]:
    """Return a page of items after a packed namespace and key, in the order of their places."""
    namespace, key = after
    rows = await unit.all("moves_items", namespace=namespace, key=key, now=unit.now, limit=PAGE)
    return list(map(_item, rows))


async def item(unit: Unit, namespace: str, key: str) -> Item | None:
    """Return the item at a place."""
    row = await unit.one("moves_item", namespace=namespace, key=key, now=unit.now)
    return _item(row) if row else None


def _item(row: Row) -> Item:
    return Item(namespaces.unpack(row[0]), *row[1:])


async def left_behind(unit: Unit) -> tuple[int, int]:
    """Return how many older versions of items, and how many policies, there are that aren't moved."""
    row = await unit.one("moves_left_behind_totals", now=unit.now)
    return (row[0], row[1]) if row else (0, 0)


async def put_items(unit: Unit, given: Iterable[Item]) -> None:
    """Store items as they are. Raises ConflictError if a place is taken."""
    for one in given:
        stored = await unit.run(
            "moves_item_put",
            namespace=namespaces.pack(one.namespace),
            key=one.key,
            subject=one.subject,
            version=one.version,
            created_at=one.created_at,
            updated_at=one.updated_at,
            expires_at=one.expires_at,
            ttl=one.ttl,
            hidden=abouts.hides(abouts.read(one.about)),
            fields=one.fields,
            about=one.about,
            projection=one.projection,
            value=one.value,
            now=unit.now,
        )
        if not stored:
            raise errors.ConflictError(
                f"item {one.key!r} in {one.namespace!r} was stored meanwhile; repeat the command"
            )
