"""Logs: the append-only lists of a thread's entries, and giving new entries their places."""

from __future__ import annotations

from dataclasses import dataclass, field

import ormsgpack

from perdure.core import decoding, pieces, trees
from perdure.core.codec import Codec
from perdure.core.entries import Cache, Slot
from perdure.core.records import Record
from perdure.core.views import Known, View

__all__ = ["Placer", "Stored"]

SKELETON = 256
"""Encoded bytes from which what a channel points to becomes an entry of its own."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a write went, and the entries it placed: what the process may remember once it is committed."""

    generation: int
    epoch: int
    placed: list[Slot]
    record: Record | None = None
    known: Known | None = None


@dataclass(slots=True)
class _Log:
    number: int
    length: int
    stored: bool


@dataclass(slots=True)
class Placer:
    """Gives the new entries of one write their places, and writes trees as bytes.

    `size` counts the bytes stored.
    """

    view: View
    codec: Codec
    cache: Cache
    size: int = 0
    placed: list[Slot] = field(default_factory=list)
    _logs: dict[str, _Log] = field(default_factory=dict)
    _rows: dict[tuple[int, int], bytes] = field(default_factory=dict)
    _digests: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    _fills: list[tuple[tuple[int, int], bytes]] = field(default_factory=list)
    _used: list[bytes] = field(default_factory=list)
    _taken: dict[bytes, Slot] = field(default_factory=dict)

    async def place(self, slots: list[Slot]) -> None:
        """Give each entry a place: where its content already is, or at the end of its log."""
        for slot in slots:
            slot.log = slot.pos = -1
        await self.view.look_up([slot.digest for slot in slots if slot.tree is None])
        for slot in slots:
            if slot.tree is not None:
                packed = trees.NESTED + self.codec.pack_tree(await self._render(slot.tree))
                slot.packed, slot.digest = packed, self.codec.digest(packed)
            await self._settle(slot)

    async def write(self, tree: object, name: str) -> bytes:
        """Return the bytes of a tree whose entries are placed; long ones become an entry themselves."""
        packed = self.codec.pack_tree(await self._render(tree))
        if len(packed) <= SKELETON or not trees.points(tree):
            return packed
        slot = await self._node(trees.NESTED + packed, f"{name}#")
        return self.codec.pack_tree(_ref(slot))

    async def lighten(self, packed: bytes, name: str) -> bytes:
        """Return bytes that point to an entry if they are long, as those of a write that was staged whole may be."""
        if len(packed) <= SKELETON or decoding.places(self.codec, packed, name):
            return packed
        slot = await self._node(packed, f"{name}:staged")
        return self.codec.pack_tree(_ref(slot))

    async def finish(self) -> None:
        """Write the rows of all new entries."""
        unit, where = self.view.unit, {"generation": self.view.generation}
        await unit.many("digest_delete", [{**where, "digest": key} for key in self._used])
        for (log, pos), payload in self._fills:
            await unit.post("entry_fill", **where, log=log, pos=pos, payload=payload)
        rows = [{**where, "log": log, "pos": pos, "payload": payload} for (log, pos), payload in self._rows.items()]
        await unit.many("entry_put", rows)
        digests = [{**where, "log": log, "pos": pos, "digest": key} for key, (log, pos) in self._digests.items()]
        await unit.many("digest_put", digests)
        logs = {name: log for name, log in self._logs.items() if not log.stored}
        await unit.many("log_put", [{**where, "name": name, "log": log.number} for name, log in logs.items()])
        self.view.known.logs.update({name: (log.number, log.length) for name, log in self._logs.items()})

    async def _node(self, packed: bytes, name: str) -> Slot:
        slot = Slot(packed, name=name, digest=self.codec.digest(packed))
        await self._settle(slot)
        return slot

    async def _settle(self, slot: Slot) -> None:
        self.placed.append(slot)
        found = await self._find(slot.digest)
        self._taken[slot.digest] = slot
        if found is not None:
            slot.log, slot.pos = found
            return
        twin = await self._find(slot.bare) if slot.kept and slot.bare else None
        if twin is not None and slot.kept is not None:
            # The slot keeps its own bytes: if this transaction fails, its work is run again where the twin may be gone.
            point = ormsgpack.Ext(trees.NAMED, ormsgpack.packb([*twin, slot.kept["id"]]))
            await self._append(slot, trees.NESTED + ormsgpack.packb(point), await self._kept_free(slot.bare))
            return
        await self._append(slot, slot.packed or b"", None)
        if slot.name.endswith(trees.BARE):
            await self._keep_free(slot)

    async def _append(self, slot: Slot, packed: bytes, free: tuple[int, int] | None) -> None:
        """Write an entry at the end of its log, or at a place that was kept free for it."""
        payload = self.codec.seal(packed)
        self.size += len(payload)
        if free is None:
            log = await self._log(slot.name)
            free = log.number, log.length
            log.length += 1
            self._rows[free] = payload
        elif free in self._rows:
            self._rows[free] = payload
        else:
            self._fills.append((free, payload))
        slot.log, slot.pos = free
        self._digests[slot.digest] = free

    async def _keep_free(self, slot: Slot) -> None:
        """Keep a place for a message without an id that will get one.

        The answer to a run's input may be stored before the step that gives the input its id. With
        the place kept, the conversation lies in its log in the order in which it was said. Until it
        is filled nothing points there; what is written points to the message, so that it is valid.
        """
        log = await self._log(slot.name.removesuffix(trees.BARE))
        place = log.number, log.length
        log.length += 1
        self._rows[place] = self.codec.seal(trees.NESTED + ormsgpack.packb(_ref(slot)))
        key = self._free_key(slot.digest)
        self._digests[key] = self.view.known.free[key] = place

    async def _kept_free(self, bare: bytes) -> tuple[int, int] | None:
        """Return the place that was kept for a message when it had no id; it is given away once."""
        key = self._free_key(bare)
        place = self._digests.pop(key, None)
        if place is None and key not in self._used and (place := await self.view.digest(key)):
            self._used.append(key)
        self.view.known.free.pop(key, None)
        return place

    def _free_key(self, bare: bytes) -> bytes:
        return self.codec.digest(b"free" + bare)

    async def _find(self, digest: bytes) -> tuple[int, int] | None:
        """Return where an entry with this content is kept already."""
        known = self.cache.find(digest, self.codec if self.view.relied else None) or self._taken.get(digest)
        if known is not None and known.log >= 0:
            return known.log, known.pos
        return await self.view.digest(digest)

    async def _log(self, name: str) -> _Log:
        log = self._logs.get(name)
        if log is None:
            known = await self.view.log(name)
            if known is not None:
                log = _Log(*known, stored=True)
            else:
                pending = sum(not other.stored for other in self._logs.values())
                log = _Log(await self.view.log_count() + pending, 0, stored=False)
            self._logs[name] = log
        return log

    async def _render(self, tree: object) -> object:
        if isinstance(tree, Slot):
            return _ref(tree)
        if isinstance(tree, trees.Listing):
            return await self._listing(tree)
        if isinstance(tree, trees.Typed):
            return ormsgpack.Ext(tree.code, self.codec.pack_tree(await self._render(tree.payload)))
        if type(tree) is list:
            return [await self._render(item) for item in tree]
        if type(tree) is dict:
            return {key: await self._render(item) for key, item in tree.items()}
        return tree

    async def _listing(self, listing: trees.Listing) -> ormsgpack.Ext:
        found: list[pieces.Piece] = []
        for piece in pieces.settle(listing.pieces):
            if isinstance(piece, pieces.Literal):
                found.append(pieces.Literal([await self._render(element) for element in piece.elements]))
            else:
                found.append(piece)
        while len(found) > 2 * pieces.FANOUT:
            found = await self._fold(found, listing.name)
        return ormsgpack.Ext(listing.code, self._flat(found))

    def _flat(self, found: list[pieces.Piece]) -> bytes:
        flat = pieces.flatten(found)
        plain = not any(isinstance(piece, pieces.Literal) for piece in found)
        return ormsgpack.packb(flat) if plain else self.codec.pack_tree(flat)

    async def _fold(self, found: list[pieces.Piece], name: str) -> list[pieces.Piece]:
        """Put the first pieces into nodes; the last ones, which may still grow, stay."""
        folded: list[pieces.Piece] = []
        groups, rest = pieces.groups(found)
        for group in groups:
            tree = ormsgpack.Ext(trees.PIECES, self._flat(group))
            slot = await self._node(trees.NESTED + self.codec.pack_tree(tree), f"{name}#")
            folded.append(pieces.Splice(slot))
        return folded + rest


def _ref(slot: Slot) -> ormsgpack.Ext:
    return ormsgpack.Ext(trees.REF, ormsgpack.packb([slot.log, slot.pos]))
