"""Distances: the nearest of more vectors than a process should keep, exact all the same.

PostgreSQL measures them itself where pgvector is installed. Elsewhere they are read page by page and forgotten.
"""

from __future__ import annotations

import heapq
import json
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from perdure.core import namespaces
from perdure.core.search import ranks

if TYPE_CHECKING:
    from perdure.core.search.shelves import Place
    from perdure.core.unit import Unit
    from perdure.engine import Row

__all__ = ["nearest", "of"]

_PAGE: Final = 2000


async def nearest(unit: Unit, place: Place, wanted: npt.NDArray[Any], *, most: int) -> dict[int, float]:
    """Return the items whose best vector is nearest, with its cosine."""
    low, high = namespaces.span(place.prefix)
    if unit.measures:
        query = array("f", wanted.astype("<f4").tobytes())
        where = {"low": low, "high": high, "number": place.number, "now": unit.now}
        return dict(await unit.all("vectors_nearest", query=query, limit=most, **where))
    ids = [row[0] for row in await unit.all("items_shelved", low=low, high=high)]
    best: dict[int, float] = {}
    for at in range(0, len(ids), _PAGE):
        best |= await of(unit, place, wanted, ids[at : at + _PAGE])
        best = dict(heapq.nlargest(most, best.items(), key=lambda one: one[1]))
    return best


async def of(unit: Unit, place: Place, wanted: npt.NDArray[Any], ids: Sequence[int]) -> dict[int, float]:
    """Return the cosine of the best vector of each of these items that has one."""
    found: dict[int, float] = {}
    for at in range(0, len(ids), _PAGE):
        page = json.dumps(ids[at : at + _PAGE])
        found |= _cosines(await unit.all("item_vectors_of", ids=page, number=place.number), wanted)
    return found


def _cosines(rows: list[Row], wanted: npt.NDArray[Any]) -> dict[int, float]:
    if not rows:
        return {}
    matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), -1)
    found = ranks.products(matrix, wanted) / np.maximum(np.linalg.norm(matrix, axis=1), 1e-12)
    best: dict[int, float] = {}
    for (item, _), cosine in zip(rows, found.tolist(), strict=True):
        best[item] = max(cosine, best.get(item, -1.0))
    return best
