"""Scores: what each item of a shelf is worth to a query, and why."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

import numpy as np
import numpy.typing as npt

from perdure.core.search import ranks, segments, shelves

__all__ = ["Explanation", "Fusion", "Mode", "Query", "Scored", "scored"]

Array = npt.NDArray[Any]
HALF_LIFE: Final = 30 * 86_400_000_000
"""Microseconds in which what recency is worth halves."""
_DEPTH: Final = 1000
"""Places of a ranked list that count when lists are fused by rank."""


class Mode(enum.StrEnum):
    """What a search goes by."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    TEXT = "text"


class Fusion(enum.StrEnum):
    """How a hybrid search makes one order of two."""

    SCORES = "scores"
    RANKS = "ranks"


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: terms, a vector of length 1 (None: there is none), and what else counts.

    `middle` is the embedder's own (see `ranks.centre`), `axis` the one its languages lie along. `near`: the cosines
    of the nearest items, by id, where the shelf has no vectors; `near_is_all`: no other item has one.
    """

    terms: tuple[str, ...]
    vector: Array | None = None
    middle: Array | None = None
    axis: Array | None = None
    mode: Mode = Mode.HYBRID
    fusion: Fusion = Fusion.SCORES
    recency: float = 0.0
    importance: float = 0.0
    now: int = 0
    near: Mapping[int, float] | None = None
    near_is_all: bool = True


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an item has its score: its parts, each None if it took no part.

    `words`: how much of the query's terms it says, from 0 to 1; `terms`: which. `cosine` is that of its best vector,
    and `closeness` the same seen from the middle of the namespace, from 0 to 1. `recency` and `importance` lie between
    0 and 1 and count by the weights that were given.
    """

    score: float
    words: float | None
    terms: tuple[str, ...]
    cosine: float | None
    closeness: float | None
    recency: float | None
    importance: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The rows of a shelf, part after part, with their scores; -inf: not found at all."""

    query: Query
    parts: tuple[segments.Part, ...]
    scores: Array
    said: Array
    cosine: Array
    close: Array

    def order(self, most: int | None, floor: float) -> list[int]:
        """Return the rows of the best scores, the best first; of equals, the newest first."""
        if most is not None and 0 < most < len(self.scores):
            floor = max(floor, float(np.partition(self.scores, -most)[-most]))
        rows = np.flatnonzero(self.scores >= floor if floor > -math.inf else self.scores > -math.inf)
        ids, updated = _column(self.parts, "ids"), _column(self.parts, "updated")
        found: list[int] = rows[np.lexsort((-ids[rows], -updated[rows], -self.scores[rows]))].tolist()
        return found if most is None else found[:most]

    def ids(self, rows: Sequence[int]) -> list[int]:
        """Return the ids of rows."""
        found: list[int] = _column(self.parts, "ids")[list(rows)].tolist()
        return found

    def explain(self, row: int) -> Explanation:
        """Return why a row has its score."""
        query = self.query
        part, at = self._place(row)
        return Explanation(
            score=float(self.scores[row]),
            words=None if query.mode is Mode.VECTOR else float(self.said[row]),
            terms=() if query.mode is Mode.VECTOR else tuple(t for t in query.terms if _holds(part.segment, t, at)),
            cosine=_known(self.cosine[row]),
            closeness=_known(self.close[row]),
            recency=float(_recency(part.segment.updated[at], query.now)) if query.recency else None,
            importance=float(part.segment.importance[at]) if query.importance else None,
        )

    def _place(self, row: int) -> tuple[segments.Part, int]:
        for part in self.parts:
            if row < len(part.segment.ids):
                return part, row
            row -= len(part.segment.ids)
        raise IndexError(row)


def scored(shelf: shelves.Shelf, query: Query) -> Scored:
    """Return what every item of a shelf is worth to a query."""
    parts = shelf.parts
    alive = _joined([part.alive for part in parts], np.bool_)
    said = _said(parts, query.terms) if query.mode is not Mode.VECTOR else np.zeros(len(alive))
    cosine, close = _closeness(parts, query)
    if not query.near_is_all:  # what was not measured is far, which is not to say that it has no vector
        close[np.isnan(close) & (said > 0)] = 0.0
    scores = _weighted(_fused(query, said, cosine, close), parts, query)
    scores[~alive] = -math.inf
    return Scored(query, parts, scores, said, cosine, close)


def _said(parts: Sequence[segments.Part], terms: Sequence[str]) -> Array:
    postings = [[part.segment.posting(term) for term in terms] for part in parts]
    held = [0] * len(terms)
    for of_part, part in zip(postings, parts, strict=True):
        for at, posting in enumerate(of_part):
            held[at] += 0 if posting is None else ranks.holders(posting, part.alive)
    living = sum(part.living for part in parts)
    weights = ranks.rarity(held, living)
    mean = sum(part.length for part in parts) / max(living, 1)
    found = [
        ranks.relevance(of_part, weights, part.segment.lengths, part.alive, mean)
        for of_part, part in zip(postings, parts, strict=True)
    ]
    return ranks.share(_joined(found, np.float64), weights)


def _closeness(parts: Sequence[segments.Part], query: Query) -> tuple[Array, Array]:
    """Return for each row the cosine of its best vector, as it is and seen from the middle; NaN: it has none."""
    rows = sum(len(part.segment.ids) for part in parts)
    if query.vector is None or query.mode is Mode.TEXT:
        return np.full(rows, np.nan), np.full(rows, np.nan)
    wanted = query.vector
    if query.near is not None:
        return _near(parts, query, query.near)
    if query.mode is Mode.VECTOR:
        return _joined([_nearest(part, wanted) for part in parts], np.float64), np.full(rows, np.nan)
    axis = np.zeros(len(wanted)) if query.axis is None else query.axis
    middle = ranks.without(ranks.centre(*_total(parts, len(wanted)), query.middle), axis)
    pairs = [_seen(part, wanted, middle, axis) for part in parts]
    return _joined([pair[0] for pair in pairs], np.float64), _joined([pair[1] for pair in pairs], np.float64)


def _near(parts: Sequence[segments.Part], query: Query, near: Mapping[int, float]) -> tuple[Array, Array]:
    """Return the cosines that were measured elsewhere; seen from the embedder's own middle, as there is no other."""
    cosine = np.full(sum(len(part.segment.ids) for part in parts), np.nan)
    first = 0
    for part in parts:
        for number, value in near.items():
            if (row := part.segment.places.get(number)) is not None:
                cosine[first + row] = value
        first += len(part.segment.ids)
    usual = 0.0 if query.middle is None or query.vector is None else float(query.middle @ query.vector)
    return cosine, np.clip((cosine - usual) / (1 - min(usual, 0.999)), 0.0, 1.0)


def _nearest(part: segments.Part, wanted: Array) -> Array:
    return _best(part, ranks.products(part.segment.vectors, wanted) if len(part.segment.owners) else None)


def _seen(part: segments.Part, wanted: Array, middle: Array, axis: Array) -> tuple[Array, Array]:
    if not len(part.segment.owners):
        return _best(part, None), _best(part, None)
    cosines, along, across = (ranks.products(part.segment.vectors, to) for to in (wanted, middle, axis))
    rest = cosines - across * float(wanted @ axis)
    return _best(part, cosines), _best(part, ranks.closeness(rest, along, across, ranks.without(wanted, axis), middle))


def _total(parts: Sequence[segments.Part], dims: int) -> tuple[Array, int]:
    totals = [part.total for part in parts if len(part.segment.owners)]
    count = sum(map(_vectors, parts))
    return (np.sum(totals, axis=0) if totals else np.zeros(dims)), count


def _vectors(part: segments.Part) -> int:
    return part.living if part.segment.single else int(np.count_nonzero(part.alive[part.segment.owners]))


def _best(part: segments.Part, measures: Array | None) -> Array:
    """Return the best measure of each row's vectors; NaN: it has none."""
    if measures is not None and part.segment.single:
        return measures
    owners = part.segment.owners
    best = np.full(len(part.segment.ids), np.nan)
    if measures is not None:
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        best[owners[starts]] = measures if len(starts) == len(owners) else np.maximum.reduceat(measures, starts)
    return best


def _fused(query: Query, said: Array, cosine: Array, close: Array) -> Array:
    match query.mode:
        case Mode.TEXT:
            return np.where(said > 0, said, -math.inf)
        case Mode.VECTOR:
            return np.where(np.isnan(cosine), -math.inf, cosine)
        case Mode.HYBRID:
            found = ranks.blend(said, close) if query.fusion is Fusion.SCORES else _by_rank(said, close)
            return np.where(np.isnan(close) & (said <= 0), -math.inf, found)
        case _:
            assert_never(query.mode)


def _by_rank(said: Array, close: Array) -> Array:
    """Return reciprocal ranks fused, as a share of what the first of both lists has."""
    said, close = np.where(said > 0, said, -math.inf), np.nan_to_num(close, nan=-math.inf)
    lists = [ranks.top(found, _DEPTH, floor=0.0).tolist() for found in (said, close)]
    fused = np.zeros(len(said))
    for row, value in ranks.reciprocals(lists).items():
        fused[row] = value
    return fused


def _weighted(scores: Array, parts: Sequence[segments.Part], query: Query) -> Array:
    if not query.recency and not query.importance:
        return scores
    recency = _recency(_column(parts, "updated"), query.now)
    more = query.recency * recency + query.importance * _column(parts, "importance")
    weighted: Array = (scores + more) / (1 + query.recency + query.importance)
    return weighted


def _recency(updated: Array, now: int) -> Array:
    left: Array = np.exp2(-np.maximum(now - updated, 0) / HALF_LIFE)
    return left


def _holds(segment: segments.Segment, term: str, row: int) -> bool:
    posting = segment.posting(term)
    if posting is None:
        return False
    at = int(posting.rows.searchsorted(row))
    return at < len(posting.rows) and bool(posting.rows[at] == row)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _column(parts: Sequence[segments.Part], name: str) -> Array:
    return _joined([getattr(part.segment, name) for part in parts], np.int64)


def _joined(arrays: Sequence[Array], kind: Any) -> Array:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=kind)
