"""Segments: words and vectors of some items as arrays, made once and never changed."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perdure.core.search import ranks

__all__ = ["Entry", "Part", "Segment", "joined", "made"]

Array = npt.NDArray[Any]
_BYTES_OF_A_TERM: Final = 120


class Entry(NamedTuple):
    """An item as search knows it: its terms in order, and a vector of length 1 for each of its texts."""

    id: int
    updated: int
    importance: float
    terms: Sequence[str]
    vectors: Sequence[bytes]


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Items by row. The rows of term t are ``rows[starts[t]:starts[t + 1]]``; the vector v is of the row owners[v]."""

    ids: Array
    updated: Array
    importance: Array
    lengths: Array
    places: dict[int, int]
    """Row by id."""
    vocabulary: dict[str, int]
    starts: Array
    rows: Array
    counts: Array
    owners: Array
    vectors: Array
    single: bool
    """Whether each row has one vector, its own: mostly so, and soon told."""

    def posting(self, term: str) -> ranks.Posting | None:
        """Return where a term stands."""
        number = self.vocabulary.get(term)
        if number is None:
            return None
        span = slice(self.starts[number], self.starts[number + 1])
        return ranks.Posting(self.rows[span], self.counts[span])

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        arrays = (self.ids, self.updated, self.rows, self.counts, self.owners, self.vectors, self.lengths)
        return sum(array.nbytes for array in arrays) + _BYTES_OF_A_TERM * (len(self.vocabulary) + len(self.ids))


class Part(NamedTuple):
    """A segment, and which of its rows still hold."""

    segment: Segment
    alive: Array
    living: int
    length: float
    """Terms in all living rows."""
    total: Array
    """The sum of the living vectors."""

    @classmethod
    def of(cls, segment: Segment, alive: Array) -> Part:
        """Count the living."""
        living = int(np.count_nonzero(alive))
        kept = segment.vectors if living == len(alive) else segment.vectors[alive[segment.owners]]
        return cls(segment, alive, living, float(segment.lengths[alive].sum()), kept.sum(axis=0, dtype=np.float64))

    def without(self, ids: Iterable[int]) -> Part:
        """Return the part without some items; itself if it has none of them."""
        gone = [row for one in ids if (row := self.segment.places.get(one)) is not None and self.alive[row]]
        if not gone:
            return self
        alive = self.alive.copy()
        alive[gone] = False
        lost = self.segment.vectors[np.isin(self.segment.owners, gone)].sum(axis=0, dtype=np.float64)
        length = self.length - float(self.segment.lengths[gone].sum())
        return Part(self.segment, alive, self.living - len(gone), length, self.total - lost)


def made(entries: Sequence[Entry]) -> Part:
    """Make a segment of items."""
    vocabulary = _vocabulary()
    numbers = list(map(vocabulary.__getitem__, itertools.chain.from_iterable(entry.terms for entry in entries)))
    lengths = np.array([len(entry.terms) for entry in entries], dtype=np.int64)
    rows = np.repeat(np.arange(len(entries), dtype=np.int64), lengths)
    pairs, counts = np.unique(np.array(numbers, dtype=np.int64) * len(entries) + rows, return_counts=True)
    terms, rows = np.divmod(pairs, max(len(entries), 1))
    vectors = [vector for entry in entries for vector in entry.vectors]
    owned = [len(entry.vectors) for entry in entries]
    segment = Segment(
        ids=np.array([entry.id for entry in entries], dtype=np.int64),
        updated=np.array([entry.updated for entry in entries], dtype=np.int64),
        importance=np.array([entry.importance for entry in entries], dtype=np.float32),
        lengths=lengths.astype(np.float32),
        places={entry.id: row for row, entry in enumerate(entries)},
        vocabulary=dict(vocabulary),
        starts=_starts(terms, len(vocabulary)),
        rows=rows.astype(np.int32),
        counts=counts.astype(np.float32),
        owners=np.repeat(np.arange(len(entries), dtype=np.int32), owned),
        vectors=_matrix(vectors),
        single=all(count == 1 for count in owned),
    )
    return Part.of(segment, np.ones(len(entries), dtype=np.bool_))


def _vocabulary() -> defaultdict[str, int]:
    """Return a dict that numbers terms as they are asked for, without a step of Python for each."""
    return defaultdict(itertools.count().__next__)


def _matrix(vectors: Sequence[bytes]) -> Array:
    if not vectors:
        return np.zeros((0, 0), dtype=np.float32)
    matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    found: Array = matrix / np.where(lengths > 0, lengths, 1)
    return found


def _starts(terms: Array, size: int) -> Array:
    return np.concatenate([[0], np.cumsum(np.bincount(terms, minlength=size))]).astype(np.int64)


def joined(parts: Sequence[Part]) -> Part:
    """Make one segment of the living rows of several."""
    vocabulary = _vocabulary()
    firsts = itertools.accumulate((part.living for part in parts[:-1]), initial=0)
    terms, rows, counts, owners = [], [], [], []
    for part, first in zip(parts, firsts, strict=True):
        segment, moved = part.segment, _moved(part.alive, first)
        renamed = np.array(list(map(vocabulary.__getitem__, segment.vocabulary)), dtype=np.int64)
        kept = part.alive[segment.rows]
        terms.append(np.repeat(renamed, np.diff(segment.starts))[kept])
        rows.append(moved[segment.rows[kept]])
        counts.append(segment.counts[kept])
        owners.append(moved[segment.owners[part.alive[segment.owners]]])
    order = np.argsort(all_terms := np.concatenate(terms), kind="stable")
    segment = Segment(
        ids=(ids := _picked(parts, "ids")),
        updated=_picked(parts, "updated"),
        importance=_picked(parts, "importance"),
        lengths=_picked(parts, "lengths"),
        places={one: row for row, one in enumerate(ids.tolist())},
        vocabulary=dict(vocabulary),
        starts=_starts(all_terms, len(vocabulary)),
        rows=np.concatenate(rows)[order].astype(np.int32),
        counts=np.concatenate(counts)[order],
        owners=np.concatenate(owners).astype(np.int32),
        vectors=_stacked([part.segment.vectors[part.alive[part.segment.owners]] for part in parts]),
        single=all(part.segment.single for part in parts),
    )
    return Part.of(segment, np.ones(len(ids), dtype=np.bool_))


def _moved(alive: Array, first: int) -> Array:
    return np.cumsum(alive) - 1 + first


def _picked(parts: Sequence[Part], name: str) -> Array:
    return np.concatenate([getattr(part.segment, name)[part.alive] for part in parts])


def _stacked(matrices: Sequence[Array]) -> Array:
    filled = [matrix for matrix in matrices if len(matrix)]
    return np.concatenate(filled) if filled else np.zeros((0, 0), dtype=np.float32)
