"""Finding: the items that answer a query best, of those that are there for the caller."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy.typing as npt

from perdure.core import filters, items, namespaces
from perdure.core.search import distances, embeddings, scores, shelves

if TYPE_CHECKING:
    from perdure.core.unit import Unit

__all__ = ["Ask", "Found", "OutdatedIndexError", "find"]

_FIRST: Final = 32
_PAGE: Final = 500
_NEAREST: Final = 1000
"""Items that are ranked by their vectors where there are too many to keep."""
_MORE: Final = 10
"""How many times as many are ranked where these were not enough."""


class OutdatedIndexError(Exception):
    """The tenant's active embedding is not the one that was asked for; agree anew."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A search for a query. `number` and `dims`: the embedding whose vectors are wanted; 0: none.

    `floor`: the least score. `shown`: see `items.search`.
    """

    prefix: tuple[str, ...]
    query: scores.Query
    conditions: filters.Filter
    paths: tuple[str, ...]
    number: int = 0
    dims: int = 0
    limit: int = 10
    offset: int = 0
    floor: float = -math.inf
    shown: int = 0
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """An item, its score, and why it has it."""

    record: items.Record
    score: float | None = None
    explanation: scores.Explanation | None = None


async def find(unit: Unit, kept: shelves.Shelves, ask: Ask) -> list[Found]:
    """Return the best items, the best first. Raises OutdatedIndexError."""
    place = shelves.Place(unit.tenant, ask.prefix, ask.number, ask.dims, ask.paths)
    shelf = kept.get(place)
    asked = shelves.questions(place, shelf)
    *answers, rows = await unit.together([*asked, ("embeddings_all", {})])
    if ask.number:
        found = embeddings.active(embeddings.read(rows))
        if found is None or found.number != ask.number:
            raise OutdatedIndexError
    shelf = await shelves.current(unit, place, shelf, answers, most=kept.limit)
    if not unit.writes:
        kept.keep(place, shelf)
    query = replace(ask.query, now=unit.now)
    if shelf.wordy and query.vector is not None:
        return await _measured(unit, ask, place, shelf, query, query.vector)
    return await _living(unit, ask, await unit.compute(functools.partial(scores.scored, shelf, query)))


async def _measured(
    unit: Unit, ask: Ask, place: shelves.Place, shelf: shelves.Shelf, query: scores.Query, wanted: npt.NDArray[Any]
) -> list[Found]:
    """Find in a shelf without vectors: more items are measured until enough of them are what was asked for."""
    most = max(_NEAREST, 2 * (ask.offset + ask.limit))
    while True:
        near = await distances.nearest(unit, place, wanted, most=most)
        whole = len(near) < most
        if not whole and query.mode is scores.Mode.HYBRID:
            said = await unit.compute(functools.partial(scores.scored, shelf, replace(query, mode=scores.Mode.TEXT)))
            near |= await distances.of(unit, place, wanted, said.ids(said.order(most, -math.inf)))
        known = replace(query, near=near, near_is_all=whole)
        found = await _living(unit, ask, await unit.compute(functools.partial(scores.scored, shelf, known)))
        if whole or len(found) >= ask.limit:
            return found
        most *= _MORE


async def _living(unit: Unit, ask: Ask, ranking: scores.Scored) -> list[Found]:
    """Go down the ranking, page by page, until enough are there."""
    if not ask.limit:
        return []
    if not ask.offset and not ask.conditions:
        return await _first(unit, ask, ranking)
    wanted = ask.offset + ask.limit
    met: list[int] = []
    for rows in _pages(ask, ranking):
        met += await _met(unit, ask, ranking, rows)
        if len(met) >= wanted:
            break
    return await _records(unit, ask, ranking, met[ask.offset : wanted])


async def _first(unit: Unit, ask: Ask, ranking: scores.Scored) -> list[Found]:
    """Return the best without a look at what they hold: seldom is one of them gone."""
    found: list[Found] = []
    for page in _pages(ask, ranking):
        for rows in (page[: ask.limit], page[ask.limit :]):
            found += await _records(unit, ask, ranking, rows) if rows else []
            if len(found) >= ask.limit:
                return found[: ask.limit]
    return found


def _pages(ask: Ask, ranking: scores.Scored) -> Iterator[list[int]]:
    """Yield the rows of the ranking, the best first; all of them are put in order only if they are wanted."""
    first = max(_FIRST, ask.offset + ask.limit + (ask.offset + ask.limit) // 4)
    rows = ranking.order(first, ask.floor)
    yield rows
    if len(rows) == first:
        more = ranking.order(None, ask.floor)[first:]
        yield from (more[at : at + _PAGE] for at in range(0, len(more), _PAGE))


async def _met(unit: Unit, ask: Ask, ranking: scores.Scored, rows: list[int]) -> list[int]:
    """Return the rows whose items are there and meet the conditions."""
    by_id = dict(zip(ranking.ids(rows), rows, strict=True))
    living = await unit.all("items_living", **_where(unit, ask, list(by_id)))
    if not ask.conditions:
        return [by_id[number] for number, _ in living]
    return [by_id[number] for number, text in living if filters.matches(ask.conditions, filters.read(text))]


async def _records(unit: Unit, ask: Ask, ranking: scores.Scored, rows: list[int]) -> list[Found]:
    by_id = dict(zip(ranking.ids(rows), rows, strict=True))
    found = await unit.all("items_found", **_where(unit, ask, list(by_id)))
    return [_found(ask, ranking, items.record(row[1:]), by_id[row[0]]) for row in found]


def _found(ask: Ask, ranking: scores.Scored, record: items.Record, row: int) -> Found:
    return Found(record, float(ranking.scores[row]), ranking.explain(row) if ask.explain else None)


def _where(unit: Unit, ask: Ask, ids: list[int]) -> dict[str, object]:
    low, high = namespaces.span(ask.prefix)
    return {"ids": json.dumps(ids), "low": low, "high": high, "now": unit.now, "shown": ask.shown}
