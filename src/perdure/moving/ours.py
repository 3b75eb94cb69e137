"""Perdure's own databases, read and written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from perdure import errors
from perdure.core import abouts, checkpoints, filters, ids, lookups, moves, namespaces, threads, writes
from perdure.core.codec import Codec
from perdure.core.decoding import Decoder
from perdure.core.entries import Caches, Slot
from perdure.langgraph import drafts, snapshots
from perdure.langgraph.calls import Calls, micros
from perdure.langgraph.configs import Scope
from perdure.memory import Memory
from perdure.model import Address
from perdure.moving.states import Entry, Key, Pack, Pending, State, micros_of

__all__ = ["OpaqueCodec", "OurSource", "OurTarget"]

UNFINISHED = "unfinished-import-"
"""Begins the id of a thread that is being imported: it gets its own when all of it is there and verified."""


class OpaqueCodec(Codec):
    """Reads values of classes that this process doesn't have as `Opaque`, so that everything can be moved."""

    def unpack(self, data: bytes, *, where: str = "", refs: Any = None) -> object:
        return self.unpack_opaque(data, where=where, refs=refs)


class _Ours:
    """What reading and writing share. The states of one thread share their messages, which nobody changes."""

    def __init__(self, memory: Memory, codec: Codec, tenant: str | None) -> None:
        self._codec = codec
        self._calls = Calls(memory.engine, codec, Caches(), Scope().narrowed(tenant, None))
        self._tenant = self._calls.tenant()
        self._pool: dict[Slot, Slot] = {}
        self._pooled = ""

    def _place(self, thread: str) -> str:
        return thread

    def keys(self, thread: str) -> list[Key]:
        """Return a thread's checkpoints, the oldest first."""
        name = self._place(thread)
        found = self._calls.read(self._tenant, lambda unit: moves.keys(unit, name))
        return [Key(place.ns, place.id, place.parent) for place in found]

    def state(self, thread: str, key: Key) -> State:
        """Return one state. Raises NotFoundError if it is not there."""
        address = Address(self._tenant, self._place(thread), key.ns, key.id)
        _, found = self._calls.read(
            self._tenant, lambda unit: lookups.get(unit, self._codec, self._calls.caches, address)
        )
        if found is None:
            raise errors.NotFoundError(f"thread {thread!r}, {key} is not there any more")
        if self._pooled != address.thread:
            self._pool, self._pooled = {}, address.thread
        made = snapshots.tuple_of(self._codec, found, None, self._pool)
        decoder = Decoder(self._codec, found.cache, str(address), pool=self._pool)
        pending = [
            Pending(task, path, write.index, write.channel, decoder.value(write.packed))
            for path, task, write in found.writes
        ]
        kept = Key(key.ns, key.id, found.parent_id)
        return State(kept, cast("dict[str, Any]", made.checkpoint), cast("dict[str, Any]", made.metadata), pending)

    def _entry(self, found: moves.Item) -> Entry:
        where = f"item {found.key!r} in {found.namespace!r}"
        return Entry(
            namespace=found.namespace,
            key=found.key,
            value=self._codec.unpack(self._codec.open(found.value, where=where), where=where),
            created_at=found.created_at,
            updated_at=found.updated_at,
            expires_at=found.expires_at,
            ttl=found.ttl,
            subject=found.subject,
            version=found.version,
            about=found.about,
            fields=found.fields,
        )


class OurSource(_Ours):
    """Reads what a tenant has in a database of ours."""

    def __init__(self, memory: Memory, codec: Codec, tenant: str | None) -> None:
        super().__init__(memory, codec, tenant)
        versions, policies = self._calls.read(self._tenant, moves.left_behind)
        self.notes: list[str] = []
        if versions:
            self.notes.append(f"{versions} older versions of items were left out: they are not moved")
        if policies:
            self.notes.append(f"{policies} policies were left out: set them anew with store.set_policy")

    def threads(self) -> list[tuple[str, int]]:
        """Return the ids of all threads and their numbers of checkpoints, unfinished imports left out."""
        found: list[tuple[str, int]] = []
        while page := self._page(found[-1][0] if found else ""):
            found += page
        return [(name, count) for name, count in found if not name.startswith(UNFINISHED)]

    def _page(self, after: str) -> list[tuple[str, int]]:
        return self._calls.read(self._tenant, lambda unit: moves.known(unit, after))

    def about(self, thread: str) -> moves.Description | None:
        """Return what the catalogue says of a thread."""
        return self._calls.read(self._tenant, lambda unit: moves.described(unit, thread))

    def entries(self) -> Iterator[list[Entry]]:
        """Yield the items, some at a time."""
        place = ("", "")
        while found := self._items(place):
            yield list(map(self._entry, found))
            place = (namespaces.pack(found[-1].namespace), found[-1].key)

    def _items(self, place: tuple[str, str]) -> list[moves.Item]:
        return self._calls.read(self._tenant, lambda unit: moves.items(unit, place))


class OurTarget(_Ours):
    """Writes into a database of ours.

    A thread that isn't there yet is built under the id of an unfinished import, and gets its own when it is complete.
    Writing has caches of its own, so that what is read back comes from the database.
    """

    keeps_about = True

    def __init__(self, memory: Memory, codec: Codec, tenant: str | None) -> None:
        super().__init__(memory, codec, tenant)
        self.pack: Pack = codec.pack
        self._now: int | None = None
        self._name = ""
        self._there: set[Key] = set()
        self._orphans: list[moves.Place] = []
        self._writer = replace(self._calls, caches=Caches(), clock=self._clock)

    def _clock(self) -> int:
        return micros() if self._now is None else self._now

    def _place(self, thread: str) -> str:
        return self._name or thread

    def begin(self, thread: str) -> None:
        """Go on with a thread that is there, or with its unfinished import."""
        name = ids.check(thread, "thread_id")
        digest = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
        there = self._calls.read(self._tenant, lambda unit: threads.find(unit, name))
        self._name = UNFINISHED + digest if there is None else name
        self._there, self._orphans = set(self.keys(thread)), []

    @property
    def unfinished(self) -> bool:
        """Whether the thread that was begun has not its own id yet."""
        return self._name.startswith(UNFINISHED)

    @property
    def undoes(self) -> bool:
        """Whether nothing is left of the thread when it is discarded."""
        return self.unfinished

    def restart(self, thread: str) -> bool:
        """Remove what an interrupted import has left of a thread, and begin it again; whether it was one."""
        if not self.unfinished:
            return False
        self.discard(thread, fully=True)
        self.begin(thread)
        return True

    def put(self, thread: str, state: State) -> None:
        """Store a state with its writes, at the time that it says it was made."""
        key = state.key
        parent = key.parent if key.parent and Key(key.ns, key.parent) in self._there else None
        if parent != key.parent:  # made by a host whose clock was ahead: the parent is yet to come
            self._orphans.append(moves.Place(key.ns, key.id, key.parent))
        address = Address(
            self._tenant, self._name, ids.check(key.ns, "checkpoint_ns", longest=4096, empty=True), parent
        )
        self._now = _time_of(state)
        self._writer.store(address, lambda careful: self._draft(address, state, careful=careful))
        self._there.add(key)
        self.put_writes(thread, key, state.writes)

    def _draft(self, address: Address, state: State, *, careful: bool) -> Callable[..., Any]:
        values = state.checkpoint["channel_values"]
        draft = drafts.of_checkpoint(
            self._codec,
            self._writer.caches,
            address,
            config={},
            checkpoint=cast("Any", state.checkpoint),
            metadata=cast("Any", state.metadata),
            new_versions={name: state.checkpoint["channel_versions"].get(name, 0) for name in values},
        )
        draft.record.metadata = state.metadata  # all of it: older ones hold more than a saver of today would keep
        draft.addressed = True
        draft.careful = careful
        return lambda unit: checkpoints.put(unit, self._codec, draft)

    def put_writes(self, thread: str, key: Key, writes: Sequence[Pending]) -> None:  # noqa: ARG002 - as above
        """Store pending writes, task by task."""
        address = Address(self._tenant, self._name, key.ns, key.id)
        by_task: dict[tuple[str, str], list[Pending]] = {}
        for write in writes:
            by_task.setdefault((write.task, write.path), []).append(write)
        for (task, path), group in by_task.items():
            self._writer.store(address, self._pending(address, task, path, group))

    def _pending(
        self, address: Address, task: str, path: str, group: list[Pending]
    ) -> Callable[[bool], Callable[..., Any]]:
        def make(careful: bool) -> Callable[..., Any]:  # noqa: FBT001 - what a second attempt does differently
            given = [(write.channel, write.value) for write in group]
            draft = drafts.of_writes(self._codec, self._writer.caches, address, given, task=task, path=path)
            draft.items = [(w.index, c, tree) for w, (_, c, tree) in zip(group, draft.items, strict=True)]
            draft.careful = careful
            return lambda unit: writes.put(unit, self._codec, draft)

        return make

    def finish(self, thread: str, keys: list[Key], about: moves.Description | None) -> None:
        """Give a new thread its id, and say what is known of it, in one transaction."""
        there = self.keys(thread)
        if [key for key in there if key in set(keys)] != keys:
            raise errors.VerificationError(f"thread {thread!r}: the order of its checkpoints is not that of the source")

        async def settle(unit: Any) -> None:
            if self.unfinished:
                await moves.rename(unit, self._name, thread)
            if about is not None:
                await moves.describe(unit, thread, about)

        self._writer.write(self._tenant, settle)
        self._forget()

    def complete(self, thread: str) -> None:  # noqa: ARG002 - as above
        """Give checkpoints that came before their parents these parents."""
        orphans, self._orphans = self._orphans, []
        for place in orphans:
            self._writer.write(self._tenant, self._reparent(place))

    def _reparent(self, place: moves.Place) -> Callable[..., Any]:
        name = self._name
        return lambda unit: moves.reparent(unit, name, place)

    def discard(self, thread: str, *, fully: bool) -> None:  # noqa: ARG002 - as above
        """Leave an unfinished import for later, or remove it."""
        name = self._name
        if fully and self.unfinished:
            self._writer.write(self._tenant, lambda unit: threads.delete(unit, name))
        self._forget()

    def _forget(self) -> None:
        self._writer.caches.drop(self._tenant, self._name)
        self._calls.caches.drop(self._tenant, self._name)
        self._name, self._now, self._pooled = "", None, ""

    def entry(self, wanted: Entry) -> Entry | None:
        """Return what is there in the place of an item."""
        namespace = namespaces.pack(namespaces.check(wanted.namespace))
        found = self._calls.read(self._tenant, lambda unit: moves.item(unit, namespace, wanted.key))
        return None if found is None else self._entry(found)

    def put_entries(self, entries: list[Entry]) -> None:
        """Store items, all or none."""
        made = [self._item(entry) for entry in entries]
        self._calls.write(self._tenant, lambda unit: moves.put_items(unit, made))

    def _item(self, entry: Entry) -> moves.Item:
        ids.check(entry.key, "key", longest=1024)
        return moves.Item(
            namespace=namespaces.check(entry.namespace),
            key=entry.key,
            subject=entry.subject,
            version=entry.version,
            created_at=entry.created_at,
            updated_at=entry.updated_at,
            expires_at=entry.expires_at,
            ttl=entry.ttl,
            about=entry.about,
            fields=entry.fields,
            value=self._codec.seal(self._codec.pack(entry.value)),
            projection=filters.write(entry.value, self._codec, abouts.plain(abouts.read(entry.about))),
        )


def _time_of(state: State) -> int | None:
    """Return when a checkpoint says it was made, None if it doesn't."""
    try:
        return micros_of(state.checkpoint["ts"])
    except (KeyError, TypeError, ValueError):
        return None
