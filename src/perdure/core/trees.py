"""Trees: a value taken apart, whose leaves are small plain values and entries."""

from __future__ import annotations

from dataclasses import dataclass

import ormsgpack

from perdure.core import pieces
from perdure.core.codec import Codec
from perdure.core.entries import Slot

__all__ = ["BARE", "NESTED", "Listing", "Typed", "plain", "points"]

REF, LIST, DICT, PIECES, NAMED = 100, 101, 102, 103, 104
"""The codec's extension codes that point to entries. NAMED: a message kept without its id, and the id."""

BARE = ":bare"
"""Ends the name of a log of messages without ids."""

NESTED = b"\xc1"
"""Leads the bytes of an entry that points to others (no value's encoding starts with it)."""


@dataclass(slots=True)
class Listing:
    """A list or dictionary as pieces; `code` says which."""

    code: int
    pieces: list[pieces.Piece]
    name: str


@dataclass(slots=True)
class Typed:
    """A value of a registered type whose payload was walked into."""

    code: int
    payload: object


def points(tree: object) -> bool:
    """Whether a tree points to entries."""
    if isinstance(tree, Slot):
        return True
    if isinstance(tree, Listing):
        return any(points(p.elements) if isinstance(p, pieces.Literal) else True for p in tree.pieces)
    if isinstance(tree, Typed):
        return points(tree.payload)
    if type(tree) is list:
        return any(map(points, tree))
    return type(tree) is dict and any(map(points, tree.values()))


def plain(codec: Codec, tree: object) -> object:
    """Return a tree that points to no entries as the codec takes it."""
    if isinstance(tree, Listing):
        literals = [piece.elements for piece in tree.pieces if isinstance(piece, pieces.Literal)]
        settled = [pieces.Literal([plain(codec, element) for element in elements]) for elements in literals]
        return ormsgpack.Ext(tree.code, codec.pack_tree(pieces.flatten([*settled])))
    if isinstance(tree, Typed):
        return ormsgpack.Ext(tree.code, codec.pack_tree(plain(codec, tree.payload)))
    if type(tree) is list:
        return [plain(codec, item) for item in tree]
    if type(tree) is dict:
        return {key: plain(codec, item) for key, item in tree.items()}
    return tree
