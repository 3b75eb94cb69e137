"""Shelves: what a process keeps of the items below a prefix, so that a search reads only what has changed.

A shelf is a few segments that never change, and which of their rows still hold. Each search asks the log of changes
what is new since the last one; the items that changed go into a small segment, and small segments are joined.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from perdure.core import filters, namespaces
from perdure.core.search import segments, texts, words

if TYPE_CHECKING:
    from perdure.core.unit import Unit
    from perdure.engine import Question, Row

__all__ = ["Place", "Shelf", "Shelves", "current"]

_PAGE: Final = 1000
_STEP: Final = 2
_FLOAT: Final = 4
"""Bytes of a number of a vector."""
_MOST_CHANGES: Final = 2000
"""Changes that are taken over one by one; with more of them, a small shelf is made anew."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a shelf is of: a prefix, the embedding whose vectors are wanted (0: none), and the paths of texts."""

    tenant: str
    prefix: tuple[str, ...]
    number: int
    dims: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Shelf:
    """The items below a prefix. All changes before `mark` are in it, and those `seen` after it.

    `wordy`: their vectors are too many to keep, so it has their words only.
    """

    mark: int
    seen: frozenset[int]
    parts: tuple[segments.Part, ...] = ()
    wordy: bool = False

    @property
    def living(self) -> int:
        """How many items there are."""
        return sum(part.living for part in self.parts)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return sum(part.segment.size for part in self.parts)


class Shelves:
    """The shelves of a memory; the least recently used go when they grow too large."""

    def __init__(self, limit: int = 1 << 30) -> None:
        self.limit = limit
        self._by_place: dict[Place, Shelf] = {}

    def get(self, place: Place) -> Shelf | None:
        """Return what is kept."""
        return self._by_place.get(place)

    def keep(self, place: Place, shelf: Shelf) -> None:
        """Keep a shelf as the most recently used, unless it alone is too large."""
        self._by_place.pop(place, None)
        if shelf.size <= self.limit:
            self._by_place[place] = shelf
            self._shrink()

    def _shrink(self) -> None:
        kept = list(self._by_place.items())
        size = sum(shelf.size for _, shelf in kept)
        for place, shelf in kept:
            if size <= self.limit:
                return
            if self._by_place.pop(place, None) is not None:
                size -= shelf.size


def questions(place: Place, shelf: Shelf | None) -> list[Question]:
    """Return what has to be asked before a search: where the log stands, and what is new in it."""
    low, high = namespaces.span(place.prefix)
    asked: list[Question] = [("item_changes_mark", {})]
    if shelf is not None:
        asked.append(("item_changes_since", {"mark": shelf.mark, "low": low, "high": high, "limit": _MOST_CHANGES}))
    return asked


async def current(unit: Unit, place: Place, shelf: Shelf | None, answers: Sequence[list[Row]], *, most: int) -> Shelf:
    """Return the shelf as it is now: `answers` are those to `questions`; vectors take up to `most` bytes."""
    mark, floor = answers[0][0]
    if shelf is None or shelf.mark <= floor or len(answers[1]) >= _MOST_CHANGES:
        return await _anew(unit, place, mark, most)
    changed = {n: item for n, item in answers[1] if n not in shelf.seen}
    seen = frozenset(n for n, _ in answers[1])
    if not changed:
        return replace(shelf, mark=mark, seen=seen) if mark != shelf.mark else shelf
    ids = list(dict.fromkeys(changed.values()))
    parts = [part.without(ids) for part in shelf.parts]
    more = await _read(unit, place, ids, wordy=shelf.wordy)
    tidied = await unit.compute(lambda: _tidied([*parts, *more]))
    return Shelf(mark, seen, tidied, wordy=shelf.wordy)


async def _anew(unit: Unit, place: Place, mark: int, most: int) -> Shelf:
    low, high = namespaces.span(place.prefix)
    ids = [row[0] for row in await unit.all("items_shelved", low=low, high=high)]
    wordy = _FLOAT * place.dims * len(ids) > most
    found = await _read(unit, place, ids, wordy=wordy)
    whole = await unit.compute(lambda: (segments.joined(found),) if len(found) > 1 else tuple(found))
    return Shelf(mark, frozenset(), whole, wordy=wordy)


async def _read(unit: Unit, place: Place, ids: Sequence[int], *, wordy: bool) -> list[segments.Part]:
    """Return segments of those items that are there, and below the prefix."""
    place = replace(place, number=0) if wordy else place
    found = []
    for at in range(0, len(ids), _PAGE):
        items, vectors = await _rows(unit, place, ids[at : at + _PAGE])
        if items:
            found.append(await unit.compute(functools.partial(_made, place, items, vectors)))
    return found


async def _rows(unit: Unit, place: Place, ids: Sequence[int]) -> tuple[list[Row], list[Row]]:
    low, high = namespaces.span(place.prefix)
    page = json.dumps(ids)
    asked: list[Question] = [("items_to_shelve", {"ids": page, "low": low, "high": high})]
    if place.number:
        asked.append(("item_vectors_of", {"ids": page, "number": place.number}))
    items, *rest = await unit.together(asked)
    return items, rest[0] if rest else []


def _made(place: Place, items: list[Row], rows: list[Row]) -> segments.Part:
    vectors: dict[int, list[bytes]] = {}
    for item, vector in rows:
        vectors.setdefault(item, []).append(vector)
    return segments.made([_entry(place, row, vectors) for row in items])


def _entry(place: Place, row: Row, vectors: dict[int, list[bytes]]) -> segments.Entry:
    item, updated, fields, projection = row
    value = filters.read(projection)
    about: dict[str, Any] = value.pop(filters.ABOUT, None) or {}
    paths = place.paths if fields is None else json.loads(fields)
    said = words.terms("\n".join(texts.read(value, paths)))
    return segments.Entry(item, updated, about.get("importance", 0.0), said, vectors.get(item, ()))


def _tidied(parts: Iterable[segments.Part]) -> tuple[segments.Part, ...]:
    """Join small segments, so that each is at least twice as large as the next."""
    kept: list[segments.Part] = []
    for part in parts:
        if not part.living:
            continue
        kept.append(part)
        while len(kept) > 1 and len(kept[-2].segment.ids) < _STEP * len(kept[-1].segment.ids):
            kept[-2:] = [segments.joined(kept[-2:])]
    return tuple(_swept(part) for part in kept)


def _swept(part: segments.Part) -> segments.Part:
    return segments.joined([part]) if _STEP * part.living < len(part.segment.ids) else part
