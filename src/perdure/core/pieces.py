"""Pieces: how a long list is written as a few ranges over logs of entries.

A list is a sequence of pieces: ranges of entries that lie side by side in a log, literal small
elements, and splices, entries that hold pieces themselves. What grows at its end keeps its
beginning: literals are cut into blocks and long piece lists into nodes, both counted from the
start, so that the next version of the list finds the same blocks and nodes again by their digest.
The stored size of a list that is appended to step by step therefore stays linear, however much
its ranges are broken up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from perdure.core.entries import Slot

__all__ = ["BLOCK", "FANOUT", "Literal", "Range", "Splice", "flatten", "from_slots", "groups", "settle", "unflatten"]

BLOCK = 32
"""Literal elements in one block."""
FANOUT = 8
"""Pieces in one node, about; a list shows few more than twice as many itself."""

_SPLICE = -1
_LITERAL = -2


@dataclass(slots=True)
class Range:
    """`count` entries of a log, from `start`."""

    log: int
    start: int
    count: int


@dataclass(slots=True)
class Literal:
    """Elements that are written where they stand."""

    elements: list[object]


@dataclass(slots=True)
class Splice:
    """An entry that holds further pieces; `slot` until it has a place."""

    slot: Slot


Piece = Range | Literal | Splice | Slot


def from_slots(slots: list[Slot], pieces: list[Piece]) -> None:
    """Append entries to pieces, lengthening the last range where they go on in its log.

    A slot that has no place yet is appended itself.
    """
    last = pieces[-1] if pieces and isinstance(pieces[-1], Range) else None
    for slot in slots:
        if slot.log < 0:
            pieces.append(slot)
            last = None
        elif last is not None and slot.log == last.log and slot.pos == last.start + last.count:
            last.count += 1
        else:
            last = Range(slot.log, slot.pos, 1)
            pieces.append(last)


def settle(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces with every slot, now placed, made part of a range."""
    settled: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Slot):
            from_slots([piece], settled)
        else:
            last = settled[-1] if settled else None
            if isinstance(piece, Range) and isinstance(last, Range) and _adjoin(last, piece):
                last.count += piece.count
            elif isinstance(piece, Range):
                settled.append(Range(piece.log, piece.start, piece.count))
            else:
                settled.append(piece)
    return settled


def _adjoin(first: Range, second: Range) -> bool:
    return first.log == second.log and first.start + first.count == second.start


def groups(found: list[Piece]) -> tuple[list[list[Piece]], list[Piece]]:
    """Return the groups of pieces that go into nodes, and the pieces at the end that don't.

    Where a group ends is decided by the pieces themselves, not by counting: a change in the middle
    of a list then moves the ends near it only, and the other nodes are found again.
    """
    last = len(found) - FANOUT
    made: list[list[Piece]] = []
    group: list[Piece] = []
    for piece in found[:last]:
        group.append(piece)
        if (len(group) > 1 and _ends(piece)) or len(group) == 4 * FANOUT:
            made.append(group)
            group = []
    return (made, group + found[last:]) if made else ([found[:last]], found[last:])


def _ends(piece: Piece) -> bool:
    if isinstance(piece, Range):
        return (piece.log + piece.start * 0x9E3779B1 >> 7) % FANOUT == 0
    return isinstance(piece, Splice) and piece.slot.digest[:1] < b"\x20"


def flatten(pieces: list[Piece]) -> list[object]:
    """Return settled pieces as one flat list for storage."""
    flat: list[object] = []
    for piece in pieces:
        if isinstance(piece, Range):
            flat += (piece.log, piece.start, piece.count)
        elif isinstance(piece, Literal):
            flat += (_LITERAL, piece.elements)
        elif isinstance(piece, Splice):
            flat += (_SPLICE, piece.slot.log, piece.slot.pos)
        else:  # pragma: no cover - settle leaves none
            msg = "a piece has no place yet"
            raise TypeError(msg)
    return flat


def unflatten(flat: list[Any]) -> Iterator[tuple[str, int, int, int, list[object]]]:
    """Yield (kind, log, start, count, elements) for each stored piece. Raises ValueError for another form."""
    at = 0
    while at < len(flat):
        head = flat[at]
        if head == _LITERAL:
            yield "literal", 0, 0, 0, _list(flat[at + 1])
            at += 2
            continue
        kind, log, start, count = (
            ("splice", *flat[at + 1 : at + 3], 1) if head == _SPLICE else ("range", *flat[at : at + 3])
        )
        if not (type(log) is type(start) is type(count) is int and min(log, start, count) >= 0):
            raise ValueError("a stored list names no place")
        yield kind, log, start, count, []
        at += 3


def _list(value: object) -> list[object]:
    if type(value) is not list:
        raise ValueError("a stored list has no elements")
    return value
