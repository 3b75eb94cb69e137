"""Decoding: what stored bytes point to, and putting values together from a thread's entries."""

from __future__ import annotations

import operator
from typing import Any

import ormsgpack

from perdure import errors
from perdure.core import pieces
from perdure.core.codec import Codec
from perdure.core.entries import UNCHANGING, Cache, Slot, fields_of, same_fields
from perdure.core.trees import LIST, NAMED, NESTED, PIECES, REF
from perdure.core.values import DEEPEST, renamed

__all__ = ["Decoder", "contents", "places"]

MOST_ENTRIES = 3 * DEEPEST + 16
"""Entries inside entries: a few for each level, and the nodes of a long list; more lead in a circle."""

_obj_of = operator.attrgetter("obj")


def contents(packed: bytes) -> bytes:
    """Return an entry's value bytes, without the mark that it points to others."""
    return packed[1:] if packed[:1] == NESTED else packed


def places(codec: Codec, packed: bytes, where: str) -> list[tuple[int, int, int]]:
    """Return every (log, start, count) that stored bytes point to, one level deep."""
    found: list[tuple[int, int, int]] = []

    def collect(code: int, payload: bytes) -> object:
        if code in {REF, NAMED}:
            log, pos = ormsgpack.unpackb(payload)[:2]
            found.append((log, pos, 1))
            return None
        flat = codec.scan(payload, where=where, refs=collect)
        for kind, log, start, count, _ in pieces.unflatten(flat):  # type: ignore[arg-type]
            if kind != "literal":
                found.append((log, start, count))
        return None

    codec.scan(contents(packed), where=where, refs=collect)
    return found


class Decoder:
    """Puts values together from a thread's cache, which must hold every entry they point to.

    `shared`: messages are the objects that the process keeps, for a run that goes on with them and
    stores them again. Any other reader gets objects of its own, so that what it changes in place
    reaches nobody. With a `pool`, the snapshots of one listing share theirs.
    """

    def __init__(
        self, codec: Codec, cache: Cache, where: str, *, shared: bool = False, pool: dict[Slot, Slot] | None = None
    ) -> None:
        self.codec = codec
        self.cache = cache
        self.where = where
        self.shared = shared
        self.pool = pool
        self._depth = 0

    def value(self, packed: bytes) -> Any:
        """Return the value of stored bytes. Raises a StoredValueError that names the thread."""
        self._depth += 1
        if self._depth > MOST_ENTRIES:
            raise errors.CorruptValueError(f"{self.where} is damaged: its entries lead in a circle")
        try:
            return self.codec.unpack(packed, where=self.where, refs=self._point)
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise errors.CorruptValueError(
                f"{self.where} is damaged: it points to an entry that is not there ({error!r})"
            ) from error
        finally:
            self._depth -= 1

    def _point(self, code: int, payload: bytes) -> object:
        if code == REF:
            log, pos = ormsgpack.unpackb(payload)
            return self._objects([self.cache.logs[log][pos]])[0]
        if code == NAMED:
            log, pos, name = ormsgpack.unpackb(payload)
            # Made anew: the two messages must not share what a caller might change.
            return renamed(self.value(contents(self.cache.logs[log][pos].packed or b"")), name)
        flat = self.codec.unpack(payload, where=self.where, refs=self._point)
        if code == PIECES:
            return flat
        elements = self._expand(flat)
        if code == LIST:
            return elements
        return {key: item for key, item in elements}  # noqa: C416 - the pairs are lists

    def _expand(self, flat: Any) -> list[Any]:
        found: list[Any] = []
        if not self._collect(flat, found):
            return self._objects(found)
        left = iter(self._objects([item for item in found if type(item) is Slot]))
        return [next(left) if type(item) is Slot else item for item in found]

    def _collect(self, flat: Any, found: list[Any]) -> bool:
        """Add the elements of stored pieces, entries as slots; whether there were literals among them."""
        mixed = False
        for kind, log, start, count, literals in pieces.unflatten(flat):
            if kind == "literal":
                found += literals
                mixed = True
            elif kind == "splice":
                mixed = self._splice(log, start, found) or mixed
            else:
                found += self.cache.run(log, start, start + count)
        return mixed

    def _splice(self, log: int, pos: int, found: list[Any]) -> bool:
        """Add what a node holds. Where that is entries only, the process remembers which."""
        slot = self.cache.logs[log][pos]
        if slot.nodes is not None:
            found += slot.nodes
            return False
        inner: list[Any] = []
        mixed = self._collect(self.value(contents(slot.packed or b"")), inner)
        if not mixed:
            slot.nodes = inner
        found += inner
        return mixed

    def _objects(self, slots: list[Slot]) -> list[Any]:
        if not self.shared and self.pool is None:
            return list(map(self._fresh, slots))
        if self.pool is not None:
            slots = list(map(self._own, slots))
        objects = list(map(_obj_of, slots))
        if type(None) in set(map(type, objects)) or not same_fields(slots, objects):
            objects = list(map(self._object, slots))
        if len(set(map(id, objects))) == len(objects):
            return objects
        return self._apart(slots, objects)

    def _apart(self, slots: list[Slot], objects: list[Any]) -> list[Any]:
        """Return an object of its own for each place of an entry that is in a list twice."""
        seen: set[int] = set()
        found: list[Any] = []
        for slot, obj in zip(slots, objects, strict=True):
            found.append(self._fresh(slot) if id(obj) in seen else obj)
            seen.add(id(obj))
        return found

    def _own(self, slot: Slot) -> Slot:
        """Return this listing's own slot for an entry."""
        pool = self.pool if self.pool is not None else {}
        own = pool.get(slot)
        if own is None:
            own = pool[slot] = Slot(slot.packed)
        return own

    def _object(self, slot: Slot) -> Any:
        if slot.obj is not None and (type(slot.obj) in UNCHANGING or slot.holds(slot.obj)):
            return slot.obj
        value = self._fresh(slot)
        if self.pool is not None:
            slot.obj, slot.kept = value, fields_of(value) if self.codec.is_message(value) else None
        elif type(value) in UNCHANGING:
            self.cache.adopt(slot, value)
        elif self.codec.is_message(value):
            self.cache.adopt(slot, value, fields_of(value))
        return value

    def _fresh(self, slot: Slot) -> Any:
        if type(slot.obj) in UNCHANGING:
            return slot.obj
        return self.value(contents(slot.packed or b""))
