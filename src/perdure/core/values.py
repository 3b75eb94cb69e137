"""Values: how a channel's value is taken apart into entries.

`Encoder` walks a value before the transaction and leaves a tree whose leaves are small plain
values, known entries, or new entries without a place. `logs.Placer` gives those a place inside
the transaction and writes the tree's bytes. `decoding` does the reverse after a read.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable
from typing import Any, cast

from perdure import errors
from perdure.core import ids, pieces
from perdure.core.codec import Codec, tags
from perdure.core.entries import UNCHANGING, Cache, Slot, fields_of, same_fields
from perdure.core.trees import BARE, DICT, LIST, PIECES, Listing, Typed, plain, points

__all__ = ["DEEPEST", "Encoder", "renamed"]

LARGE = 128
"""Encoded bytes from which a value becomes an entry of its own."""
SMALL = 64
"""Encoded bytes up to which an element of a long list is written as a literal."""
WIDE = 32
"""Keys from which a dictionary is kept as a list of its pairs."""

TAIL = 16
"""Elements at a list's end that are looked at one by one: the ones a step has added or changed."""
DEEPEST = 48
"""Levels of nesting in one value; containers other than lists and dictionaries count twice."""

_SCALARS = frozenset({type(None), bool, float})
_SETS: dict[type, int] = {set: tags.SET, frozenset: tags.FROZENSET}
_obj_of = operator.attrgetter("obj")


class Encoder:
    """Takes values apart for one thread. `made` are the new entries, those inside others first."""

    def __init__(self, codec: Codec, cache: Cache) -> None:
        self.codec = codec
        self.cache = cache
        self.made: list[Slot] = []
        self._new: dict[bytes, Slot] = {}
        self._depth = 0

    def value(self, value: Any, name: str, path: str) -> object:
        """Return the tree of a value. `name` is the log for its new entries.

        Raises UnsupportedValueError with the path of what can't be kept.
        """
        kind = type(value)
        if kind in _SCALARS or (kind is int and -(2**63) <= value < 2**63):
            return value
        if kind is str:
            return value if len(value) <= LARGE else self._leaf(value, name, path)
        if self._depth >= DEEPEST:
            msg = f"{path[:200]}: nested more than {DEEPEST} levels deep; flatten it, or store it as text"
            raise errors.UnsupportedValueError(msg, path=path[:200])
        self._depth += 1
        try:
            return self._compound(value, kind, name, path)
        finally:
            self._depth -= 1

    def _compound(self, value: Any, kind: type, name: str, path: str) -> object:
        if kind is list:
            return self._list(value, name, path)
        if kind is dict and all(type(key) is str for key in value):
            return self._dict(value, name, path)
        if self.codec.is_message(value):
            return self._message(value, name, path)
        if kind in _SETS and len(value) > WIDE:
            return self._set(value, _SETS[kind], name, path)
        parts = self.codec.parts(value)
        if parts is None:
            return self._leaf(value, name, path)
        tree = Typed(parts.code, self.value(parts.payload, name, path))
        return tree if self._weight(tree) <= LARGE else self._entry(tree, f"{name}:{kind.__name__}")

    def _leaf(self, value: Any, name: str, path: str) -> object:
        known = self.cache.unchanging(value)
        if known is not None:
            return known
        packed = self.codec.pack(value, path)
        if len(packed) <= LARGE:
            return value
        slot = self._packed(packed, f"{name}:{type(value).__name__}")
        if slot.obj is None and type(value) in UNCHANGING:
            slot.obj = value
        return slot

    def _message(self, message: Any, name: str, path: str) -> Slot:
        slot = self.cache.slot_of(message)
        if slot is not None:
            return slot
        kept = fields_of(message)  # before it is encoded: another thread may be giving it an id just now
        named = message.id is not None
        slot = self._packed(self.codec.pack(message, path), name if named else f"{name}{BARE}")
        if slot.log >= 0:
            self.cache.adopt(slot, message, kept)
        elif slot.obj is None:
            slot.obj, slot.kept = message, kept
            if kept is not None and ids.is_uuid(kept["id"]):
                bare = self.codec.digest(self.codec.pack(renamed(message, None)))
                slot.bare = bare if slot.holds(message) else b""
        return slot

    def _packed(self, packed: bytes, name: str) -> Slot:
        digest = self.codec.digest(packed)
        known = self.cache.by_digest.get(digest) or self._new.get(digest)
        if known is not None:
            return known
        slot = self._new[digest] = Slot(packed, name=name, digest=digest)
        self.made.append(slot)
        return slot

    def _entry(self, tree: object, name: str) -> Slot:
        """Return the entry for a tree. If it points to others, its bytes come when those have places."""
        if not points(tree):
            return self._packed(self.codec.pack_tree(plain(self.codec, tree)), name)
        slot = Slot(None, name=name, tree=tree)
        self.made.append(slot)
        return slot

    # Lists

    def _list(self, value: list[Any], name: str, path: str) -> object:
        slots = self._known(value) if value and self.codec.is_message(value[0]) else None
        if slots is None:
            elements = [self._element(item, name, f"{path}[{at}]") for at, item in enumerate(value)]
            return self._listing(LIST, elements, name)
        for at, slot in enumerate(slots):
            if slot is None:
                slots[at] = self._message(value[at], name, f"{path}[{at}]")
        return Listing(LIST, self._ranges(cast("list[Slot]", slots), name), name)

    def _known(self, value: list[Any]) -> list[Slot | None] | None:
        """Look up, in bulk, the messages of a list that this process knows, unchanged; None for each other one.

        None for the whole list: it does not look like a conversation that goes on.
        """
        slots: list[Slot | None] = list(map(self.cache.by_id.get, map(id, value)))
        tail = max(0, len(value) - TAIL)
        head = slots[:tail]
        if None in head or not self._same(cast("list[Slot]", head), value[:tail]):
            tail = 0
        for at in range(tail, len(value)):
            slot = slots[at]
            if slot is None or not slot.holds(value[at]):
                if not self.codec.is_message(value[at]):
                    return None
                slots[at] = None
        return slots

    def _same(self, slots: list[Slot], items: list[Any]) -> bool:
        return all(map(operator.is_, map(_obj_of, slots), items)) and same_fields(slots, items)

    def _ranges(self, slots: list[Slot], name: str) -> list[pieces.Piece]:
        """Return the ranges of entries. Those of a list that begins like the last one are not made again."""
        before, ready = self.cache.lists.get(name, ([], []))
        count = len(before)
        if not count or slots[:count] != before:
            count, ready = 0, []
        found = [pieces.Range(p.log, p.start, p.count) for p in ready]
        rest: list[pieces.Piece] = [*found]
        placed = next((at for at in range(count, len(slots)) if slots[at].log < 0), len(slots))
        pieces.from_slots(slots[count:placed], rest)
        if placed > pieces.BLOCK and placed > count:
            kept = [pieces.Range(p.log, p.start, p.count) for p in rest if isinstance(p, pieces.Range)]
            self.cache.lists[name] = (slots[:placed], kept)
        pieces.from_slots(slots[placed:], rest)
        return rest

    def _element(self, item: Any, name: str, path: str) -> object:
        tree = self.value(item, name, path)
        if isinstance(tree, Slot) or self._weight(tree) <= SMALL:
            return tree
        return self._entry(tree, f"{name}:{type(item).__name__}")

    def _listing(self, code: int, elements: list[object], name: str) -> object:
        """Return elements as they are if they are few and plain, as pieces otherwise."""
        slots = sum(isinstance(element, Slot) for element in elements)
        if code == LIST and not slots and len(elements) <= pieces.BLOCK and self._weight(elements) <= LARGE:
            return elements
        found: list[pieces.Piece] = []
        literals: list[object] = []
        for element in elements:
            if isinstance(element, Slot):
                self._flush(literals, found, name)
                literals = []
                pieces.from_slots([element], found)
            else:
                literals.append(element)
        self._flush(literals, found, name)
        return Listing(code, found, name)

    def _flush(self, literals: list[object], found: list[pieces.Piece], name: str) -> None:
        whole = len(literals) // pieces.BLOCK * pieces.BLOCK
        found.extend(self._block(literals[at : at + pieces.BLOCK], name) for at in range(0, whole, pieces.BLOCK))
        if literals[whole:]:
            found.append(pieces.Literal(literals[whole:]))

    def _set(self, value: Iterable[Any], code: int, name: str, path: str) -> Typed:
        """Return the pieces of a set, in the order of its members' bytes.

        Blocks end where a member's digest says so: a new member, wherever it belongs, changes one block.
        """
        found: list[pieces.Piece] = []
        block: list[object] = []
        packed = sorted(((self.codec.pack(item, path), item) for item in value), key=operator.itemgetter(0))
        for data, item in packed:
            block.append(item)
            if self.codec.digest(data)[0] % pieces.BLOCK == 0 or len(block) == 4 * pieces.BLOCK:
                found.append(self._block(block, name))
                block = []
        if block:
            found.append(self._block(block, name))
        return Typed(code, Listing(LIST, found, name))

    def _block(self, elements: list[object], name: str) -> pieces.Splice:
        block: list[pieces.Piece] = [pieces.Literal(elements)]
        return pieces.Splice(self._entry(Listing(PIECES, block, name), f"{name}#"))

    # Dictionaries

    def _dict(self, value: dict[str, Any], name: str, path: str) -> object:
        trees = {key: self.value(item, self._log(key, item, name), f"{path}.{key}") for key, item in value.items()}
        if len(trees) < WIDE and self._weight(trees) <= 2 * LARGE:
            return trees
        pairs = [self._pair(key, tree, name) for key, tree in trees.items()]
        return self._listing(DICT, pairs, name)

    def _log(self, key: str, item: Any, name: str) -> str:
        """Return the log for what a key holds: messages go to one of the key's name, which the channel shares."""
        return key if type(item) is list and item and self.codec.is_message(item[0]) else name

    def _pair(self, key: str, tree: object, name: str) -> object:
        pair: list[object] = [key, tree]
        return pair if self._weight(pair) <= SMALL else self._entry(pair, f"{name}:pair")

    def _weight(self, tree: object) -> int:
        """Return about how many bytes a tree takes where it stands."""
        if isinstance(tree, str):
            return 2 + len(tree)
        if isinstance(tree, Slot):
            return 8
        if isinstance(tree, Typed):
            return 3 + self._weight(tree.payload)
        if isinstance(tree, Listing):
            literals = [piece.elements for piece in tree.pieces if isinstance(piece, pieces.Literal)]
            return 8 + 6 * (len(tree.pieces) - len(literals)) + sum(map(self._weight, literals))
        return self._plain_weight(tree)

    def _plain_weight(self, tree: object) -> int:
        if type(tree) is list:
            return 2 + sum(map(self._weight, tree))
        if type(tree) is dict:
            return 2 + sum(2 + len(key) + self._weight(item) for key, item in tree.items())
        return 5 if type(tree) in _SCALARS or type(tree) is int else len(self.codec.pack(tree))


def renamed(message: Any, name: str | None) -> Any:
    """Return a copy of a message with another id, as if it had been made with it.

    LangGraph stores a run's input, and a node's answer, before the reducer gives their messages
    ids. A message that was stored before without its id is then kept as that entry and the id.
    """
    copied = copy.copy(message)
    copied.__dict__["id"] = name
    fields = copied.__pydantic_fields_set__
    fields.add("id") if name is not None else fields.discard("id")
    return copied
