"""Ranks: what each item of a namespace is worth to a query, by its words and by its vector.

Worth is absolute, from 0 to 1, so that it orders items and a floor can say that nothing fits. Everything here is a
function of arrays: one entry for each row of a segment, statistics first summed over the segments of a namespace.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "Posting",
    "blend",
    "centre",
    "closeness",
    "holders",
    "products",
    "rarity",
    "reciprocals",
    "relevance",
    "share",
    "top",
    "without",
]

Id = TypeVar("Id", bound=Hashable)
Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]

SATURATION: Final = 0.9  # k1: how soon a repeated word counts no more
LENGTHENING: Final = 0.4  # b: how much a long text is marked down
WORDS: Final = 0.4  # the part of words in what an item is worth; the rest is the vector's
PRIOR: Final = 16  # rows the embedder's own middle counts for
NEAREST: Final = 1e-4  # squared distance from the middle that still has a direction


class Posting(NamedTuple):
    """Where a term stands in a segment: rows, ascending, and how often in each."""

    rows: npt.NDArray[np.integer]
    counts: Floats


def holders(posting: Posting, alive: npt.NDArray[np.bool_]) -> int:
    """Return how many living rows hold a term."""
    return int(np.count_nonzero(alive[posting.rows]))


def rarity(holding: Sequence[int], living: int) -> Doubles:
    """Return the weight of each term that `holding` of `living` rows hold.

    It is Robertson and Spärck Jones's, with the one that keeps it above 0; a term that no row holds weighs most.
    """
    held = np.asarray(holding, dtype=np.float64)
    weights: Doubles = np.log1p((living - held + 0.5) / (held + 0.5))
    return weights


def relevance(
    postings: Sequence[Posting | None], weights: Doubles, lengths: Floats, alive: npt.NDArray[np.bool_], mean: float
) -> Doubles:
    """Return BM25 for every row of a segment (Robertson and Zaragoza 2009); 0 for one that is not alive.

    `mean` is the mean length of the living rows of all segments. A term the segment does not hold has no posting.
    """
    scores = np.zeros(len(lengths))
    for posting, weight in zip(postings, weights, strict=True):
        if posting is not None:
            scores[posting.rows] += weight * _frequency(posting, lengths, mean)
    scores[~alive] = 0.0
    return scores


def _frequency(posting: Posting, lengths: Floats, mean: float) -> Doubles:
    long = lengths[posting.rows] / np.float64(max(mean, 1.0))
    counts = posting.counts.astype(np.float64)
    score: Doubles = counts * (SATURATION + 1) / (counts + SATURATION * (1 - LENGTHENING + LENGTHENING * long))
    return score


def share(scores: Doubles, weights: Doubles) -> Doubles:
    """Return how much of what was asked for each row says, from 0 to 1.

    1 is every term once in a row of mean length. Terms that no row holds count as asked for and not said.
    """
    asked = float(weights.sum())
    return np.minimum(scores / asked, 1.0) if asked > 0 else np.zeros_like(scores)


def centre(total: Floats, count: int, prior: Floats | None = None) -> Doubles:
    """Return the middle to look from: the mean of a namespace's vectors, drawn to the embedder's own.

    Embedders put all texts into a narrow cone; seen from its middle, the unrelated are at right angles (Mu and
    Viswanath 2018). `total` is the sum of the living vectors, `prior` the mean of texts about this and that. It keeps
    the middle of few rows from being those rows; without it, theirs is drawn to 0.
    """
    middle = total.astype(np.float64)
    if prior is not None:
        middle += PRIOR * prior
    return middle / (count + PRIOR)


def products(vectors: Floats, wanted: Floats) -> Doubles:
    """Return the product of each vector with a wanted one.

    Row by row: a matrix product would start threads, which on a busy machine wait for each other far longer than
    they work.
    """
    found: Doubles = np.vecdot(vectors, wanted.astype(vectors.dtype)).astype(np.float64)
    return found


def without(vector: Floats, axis: Floats) -> Doubles:
    """Return what a vector is apart from its part along an axis of length 1, or of 0: then there is none."""
    rest: Doubles = vector - float(vector @ axis) * axis.astype(np.float64)
    return rest


def closeness(cosines: Doubles, along: Doubles, across: Doubles, wanted: Floats, middle: Floats) -> Doubles:
    """Return the cosine of each vector with the wanted one, seen from the middle; from 0 to 1, behind it is 0.

    The wanted one and the middle are `without` an axis, and so are the vectors here: `across` are their `products` with
    it, `along` those with the middle, `cosines` those with the wanted one. All have length 1 as they were.
    """
    square, wanted_along = float(middle @ middle), float(wanted @ middle)
    distances = np.maximum(1 - across**2 - 2 * along + square, NEAREST)
    distance = max(float(wanted @ wanted) - 2 * wanted_along + square, NEAREST)
    return np.clip((cosines - along - wanted_along + square) / np.sqrt(distances * distance), 0.0, 1.0)


def blend(said: Doubles, close: Doubles) -> Doubles:
    """Return what each row is worth by its words and its vector; NaN: it has no vector, and words decide alone."""
    return np.where(np.isnan(close), said, WORDS * said + (1 - WORDS) * close)


def reciprocals(lists: Sequence[Sequence[Id]], k: float = 10) -> dict[Id, float]:
    """Fuse ranked lists by reciprocal rank (Cormack, Clarke and Büttcher 2009).

    1 is the first of every list.
    """
    sums: dict[Id, float] = {}
    most = len(lists) / (k + 1)
    for ranked in lists:
        for rank, one in enumerate(ranked, start=1):
            sums[one] = sums.get(one, 0.0) + 1 / (k + rank) / most
    return sums


def top(scores: Doubles, most: int, floor: float = -math.inf) -> npt.NDArray[np.intp]:
    """Return the rows of the highest scores at or above the floor, best first; equals in their own order."""
    rows = np.flatnonzero(scores >= floor)
    if most < len(rows):
        least = np.partition(scores[rows], -most)[-most] if most > 0 else math.inf
        rows = rows[scores[rows] >= least]
    return rows[np.argsort(-scores[rows], kind="stable")][: max(most, 0)]
