"""What items say in measurements of the store: drawn by chance, the same in every process."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks import embedders

__all__ = ["K", "Place", "best", "items", "matrix", "place", "queries", "tenants", "value"]

K: Final = 10
"""Items that a search asks for."""
_KINDS: Final = 20
_TOPICS: Final = 60
_SYLLABLES: Final = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu")
_WORDS: Final = ["".join(parts) for parts in itertools.product(_SYLLABLES, repeat=3)]
# As often as words of a language: the second half as often as the first, the third a third.
_OFTEN: Final = list(itertools.accumulate(1 / rank for rank in range(1, len(_WORDS) + 1)))
_RANKS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace of so many items; `tenant` for those who know tenants, to others it is a label."""

    name: str
    count: int
    tenant: str | None = None


def place(count: int) -> Place:
    """Return a namespace of a size."""
    return Place(f"of-{count}", count)


def tenants(count: int, most: int) -> list[Place]:
    """Return tenants of `most` to 1 items: the second has half as many as the first or less, and so on."""
    slope = math.log(most) / math.log(count)
    return [Place("notes", max(1, round(most / n**slope)), f"tenant-{n}") for n in range(1, count + 1)]


def _text(seed: str, words: int) -> str:
    chance = random.Random(seed)
    return " ".join([f"topic{chance.randrange(_TOPICS)}", *chance.choices(_WORDS, cum_weights=_OFTEN, k=words)])


def value(where: Place, number: int) -> dict[str, Any]:
    """Return the value of an item: some 30 words, one of 20 kinds, and a number of six digits."""
    text = _text(f"{where.tenant}/{where.name}/{number}", 30)
    return {"text": text, "kind": f"kind-{number % _KINDS}", "rank": _RANKS + number * 7919 % _RANKS}


def items(where: Place) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the keys and values of a place."""
    return ((str(number), value(where, number)) for number in range(where.count))


def queries(count: int) -> list[str]:
    """Return what is searched for."""
    return [_text(f"query/{number}", 6) for number in range(count)]


@functools.lru_cache(maxsize=128)
def matrix(where: Place) -> Any:
    """Return the vectors of a place as one array."""
    return np.stack([embedders.vector(value["text"]) for _, value in items(where)])


def best(vectors: Any, wanted: Any, most: int = K) -> Sequence[int]:
    """Return the rows of the highest cosines, the best first: brute force, and so the truth.

    Row by row, which starts no threads: those of a matrix product wait for each other on a busy machine.
    """
    scores = np.vecdot(vectors, wanted)
    most = min(most, len(scores))
    rows = np.argpartition(-scores, most - 1)[:most]
    found: Sequence[int] = rows[np.argsort(-scores[rows])].tolist()
    return found
