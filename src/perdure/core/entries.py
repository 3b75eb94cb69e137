"""Entries: the immutable parts of a thread's values, each stored once, and what a process keeps of them.

An entry has a place, (log, position), that never changes within a thread's generation and epoch.
A process keeps the entries it has seen, so that a read fetches only what is new and a write
recognises a message it has stored before by its identity, without encoding it again.
"""

from __future__ import annotations

import marshal
import operator
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perdure.core.records import Record

if TYPE_CHECKING:
    from perdure.core.codec import Codec
    from perdure.core.views import Known

__all__ = ["UNCHANGING", "Cache", "Caches", "Slot", "fields_of", "same_fields"]

UNCHANGING = frozenset({str, bytes})
"""Types of large values that nobody can change in place, so that identity is proof enough."""

_PLAIN = frozenset({str, bytes, type(None)})
_EMPTY = frozenset({list, dict})
_SLOT_BYTES = 1500
SIGHTINGS = 10_000
"""Threads for which a process remembers the generation it saw."""

_dict_of = operator.attrgetter("__dict__")
_extra_of = operator.attrgetter("__pydantic_extra__")


class Slot:
    """One entry as a process knows it.

    `log` is -1 until the entry has a place. `packed` are its encoded bytes, or `tree` what they
    will be made of once the entries inside have places. `obj` is the decoded value and `kept` a
    copy of its fields, against which it is compared before it is trusted again. `bare` is the
    digest of a message without its id. `nodes` are the entries that a node of a list holds.
    """

    __slots__ = ("bare", "digest", "kept", "log", "name", "nodes", "obj", "packed", "pos", "tree")

    def __init__(self, packed: bytes | None, *, name: str = "", tree: object = None, digest: bytes = b"") -> None:
        self.log = -1
        self.pos = -1
        self.packed = packed
        self.tree = tree
        self.digest = digest
        self.bare = b""
        self.name = name
        self.obj: Any = None
        self.kept: dict[str, Any] | None = None
        self.nodes: list[Slot] | None = None

    def holds(self, obj: object) -> bool:
        """Whether `obj` is this slot's own object and nobody changed it in place."""
        return self.obj is obj and self.kept is not None and _unchanged(obj, self.kept)


class _Image:
    """What a compound field held, to the type of each part: true is not 1, and 1.0 is neither."""

    __slots__ = ("data",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        self.data = marshal.dumps(value, 2)  # only ever compared, never loaded

    def __eq__(self, other: object) -> bool:
        given: Any = other
        try:
            return marshal.dumps(given, 2) == self.data
        except ValueError:
            return False


def fields_of(obj: object) -> dict[str, Any] | None:
    """Return a copy of an object's fields that a change in place can't reach; None: not comparable."""
    if getattr(obj, "__pydantic_extra__", None) or getattr(obj, "__pydantic_private__", None) is not None:
        return None  # a class with private attributes: nothing to compare them with
    try:
        return {name: _copy(value) for name, value in vars(obj).items()}
    except ValueError:  # a field holds what marshal does not know
        return None


def _copy(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    return value.copy() if not value and type(value) in _EMPTY else _Image(value)


def _unchanged(obj: object, kept: dict[str, Any]) -> bool:
    return not getattr(obj, "__pydantic_extra__", None) and _equal(vars(obj), kept)


def _equal(found: object, kept: object) -> bool:
    try:
        return bool(found == kept)
    except Exception:  # noqa: BLE001 - an array in a field can't say whether it equals; then encode again
        return False


def same_fields(slots: list[Slot], objects: list[Any]) -> bool:
    """Whether every object still has the fields that its slot kept: the bulk form of `Slot.holds`."""
    try:
        return not any(map(_extra_of, objects)) and _equal(list(map(_dict_of, objects)), [slot.kept for slot in slots])
    except AttributeError:  # not all are messages; the caller then looks at each object
        return False


@dataclass(slots=True)
class Cache:
    """What this process knows of one generation of a thread, and of one epoch of its entries."""

    generation: int = 0
    epoch: int = 0
    logs: dict[int, dict[int, Slot]] = field(default_factory=dict)
    runs: dict[int, list[Slot]] = field(default_factory=dict)
    """The beginning of each log, as far as all of it is kept."""
    by_id: dict[int, Slot] = field(default_factory=dict)
    by_digest: dict[bytes, Slot] = field(default_factory=dict)
    lists: dict[str, tuple[list[Slot], list[Any]]] = field(default_factory=dict)
    """The placed entries of the last long list of each log, with their ranges."""
    heads: dict[str, Record] = field(default_factory=dict)
    """The record that this process last stored in each namespace."""
    whole: dict[int, int] = field(default_factory=dict)
    """For each log, up to where every entry, and all they lead to, is kept."""
    size: int = 0
    known: Known | None = None
    """The thread's rows as they were last seen."""
    unread: list[Slot] = field(default_factory=list)
    """Entries whose digest nobody has asked for yet."""

    def place(self, slot: Slot, log: int, pos: int) -> Slot:
        """Keep a slot at its place and return the one that is kept there."""
        slot.log, slot.pos, slot.tree = log, pos, None
        have = self.logs.setdefault(log, {})
        kept = have.setdefault(pos, slot)
        run = self.runs.setdefault(log, [])
        while (following := have.get(end := len(run))) is not None:
            run[end : end + 1] = [following]  # another thread may have put the same one there meanwhile
        if kept is slot:
            self.size += 3 * len(slot.packed or b"") + _SLOT_BYTES  # the bytes, the object, the copy of its fields
            if slot.digest:
                self.by_digest[slot.digest] = slot
            else:
                self.unread.append(slot)
        if slot.obj is not None:
            self.adopt(kept, slot.obj, slot.kept)
        return kept

    def run(self, log: int, start: int, end: int) -> list[Slot]:
        """Return the entries of a part of a log. Raises KeyError if one is not kept."""
        run = self.runs.get(log, [])
        if end <= len(run):
            return run[start:end]
        return [self.logs[log][pos] for pos in range(start, end)]

    def find(self, digest: bytes, codec: Codec | None) -> Slot | None:
        """Return the slot with some content; with a codec, of those too that were read and never looked for."""
        while codec is not None and self.unread:
            slot = self.unread.pop()
            if slot.packed is not None:
                slot.digest = codec.digest(slot.packed)
                self.by_digest.setdefault(slot.digest, slot)
        return self.by_digest.get(digest)

    def slot_of(self, obj: object) -> Slot | None:
        """Return the slot of a message that this process has stored or read, if it is unchanged."""
        slot = self.by_id.get(id(obj))
        return slot if slot is not None and slot.holds(obj) else None

    def unchanging(self, value: object) -> Slot | None:
        """Return the slot of a large text or bytes object that this process has stored or read."""
        slot = self.by_id.get(id(value))
        return slot if slot is not None and slot.obj is value and type(value) in UNCHANGING else None

    def adopt(self, slot: Slot, obj: object, kept: dict[str, Any] | None = None) -> None:
        """Make `obj` the object that stands for a slot.

        `kept` is a copy of its fields from before it was encoded: what was changed since is not in
        the slot's bytes. It is not wanted for large text and bytes.
        """
        if slot.obj is not None and slot.obj is not obj:
            self.by_id.pop(id(slot.obj), None)
        slot.obj, slot.kept = obj, kept
        if kept is not None or type(obj) in UNCHANGING:
            self.by_id[id(obj)] = slot

    def missing(self, log: int, start: int, end: int) -> list[tuple[int, int]]:
        """Return the (start, end) of the parts of a range that are not kept."""
        have = self.logs.get(log, {})
        if end - start > len(have):
            kept = sorted(pos for pos in list(have) if start <= pos < end)  # others may be adding just now
        else:
            kept = [pos for pos in range(start, end) if pos in have]
        gaps: list[tuple[int, int]] = []
        for pos in [*kept, end]:
            if pos > start:
                gaps.append((start, pos))
            start = pos + 1
        return gaps


class Caches:
    """The caches of a memory, by thread; the least recently used go when they grow too large."""

    def __init__(self, limit: int = 64 << 20, threads: int = 512) -> None:
        self.limit = limit
        self.threads = threads
        self._generations: tuple[int, list[int]] = (0, [])
        self._uses = 0
        self._sighted: dict[tuple[str, str, bool], int] = {}
        self._by_thread: dict[tuple[str, str], Cache] = {}

    @property
    def generations(self) -> list[int]:
        """The numbers that this process has taken for threads to come. A forked child has to take its own."""
        process = os.getpid()
        if self._generations[0] != process:
            self._generations = (process, [])
        return self._generations[1]

    def at(self, tenant: str, thread: str, generation: int, epoch: int) -> Cache:
        """Return the cache for exactly this generation and epoch, a new one if need be."""
        found = self._by_thread.get((tenant, thread))
        if found is None or (found.generation, found.epoch) != (generation, epoch):
            found = Cache(generation, epoch)
        self.keep(tenant, thread, found)
        return found

    def last(self, tenant: str, thread: str) -> Cache:
        """Return what was last known of a thread; an empty cache if nothing."""
        return self._by_thread.get((tenant, thread)) or Cache()

    def keep(self, tenant: str, thread: str, cache: Cache) -> None:
        """Make a cache the one that is known for its thread, and the most recently used."""
        self._by_thread.pop((tenant, thread), None)
        self._by_thread[tenant, thread] = cache
        self._uses += 1
        if len(self._by_thread) > self.threads or self._uses % 64 == 0:
            self._shrink((tenant, thread))

    def drop(self, tenant: str, thread: str) -> None:
        """Forget a thread."""
        self._by_thread.pop((tenant, thread), None)

    def learn(self, tenant: str, thread: str, known: Known) -> None:
        """Remember rows of a thread, unless a later revision of it is known."""
        cache = self._by_thread.get((tenant, thread))
        state = known.state
        if cache is not None and state is not None and cache.generation == state.generation:
            have = cache.known
            if have is None or have.state is None or have.state.revision < state.revision:
                cache.known = known

    def doubt(self, tenant: str, thread: str) -> None:
        """Forget the rows of a thread, but not the entries."""
        cache = self._by_thread.get((tenant, thread))
        if cache is not None:
            cache.known = None

    def sight(self, tenant: str, thread: str, generation: int, *, root: bool) -> None:
        """Remember in which generation this process saw a thread; 0: there was none.

        A look at a subgraph's namespace does not make the process forget what a run saw at the root.
        """
        key = (tenant, thread, root)
        self._sighted.pop(key, None)
        if generation:
            self._sighted[key] = generation
            if len(self._sighted) > SIGHTINGS:
                self._sighted.pop(next(iter(self._sighted)), None)

    def sighted(self, tenant: str, thread: str, *, root: bool) -> int:
        """Return the generation in which this process last saw a thread, 0 if it saw none."""
        seen = self._sighted.get((tenant, thread, True), 0)
        return seen if root or seen else self._sighted.get((tenant, thread, False), 0)

    def _shrink(self, current: tuple[str, str]) -> None:
        kept = list(self._by_thread.items())
        size = sum(cache.size for _, cache in kept)
        count = len(kept)
        for key, cache in kept:
            if size <= self.limit and count <= self.threads:
                return
            if key != current and self._by_thread.pop(key, None) is not None:
                size, count = size - cache.size, count - 1
