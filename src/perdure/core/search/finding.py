"""Finding: the items that answer a query best, of those that are there for the caller."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from perdure.core import filters, items, namespaces
from perdure.core.search import embeddings, scores, shelves

if TYPE_CHECKING:
    from perdure.core.unit import Unit

__all__ = ["Ask", "Found", "OutdatedIndexError", "find"]

_FIRST: Final = 32
_PAGE: Final = 500


class OutdatedIndexError(Exception):
    """The tenant's active embedding is not the one that was asked for; agree anew."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A search for a query. `number`: the embedding whose vectors are wanted; 0: none.

    `floor`: the least score. `shown`: see `items.search`.
    """

    prefix: tuple[str, ...]
    query: scores.Query
    conditions: Sequence[filters.Condition]
    paths: tuple[str, ...]
    number: int = 0
    limit: int = 10
    offset: int = 0
    floor: float = -math.inf
    shown: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """An item, its score, and why it has it."""

    record: items.Record
    explanation: scores.Explanation | None = None


async def find(unit: Unit, kept: shelves.Shelves, ask: Ask) -> list[Found]:
    """Return the best items, the best first. Raises OutdatedIndexError."""
    place = shelves.Place(unit.tenant, ask.prefix, ask.number, ask.paths)
    shelf = kept.get(place)
    asked = shelves.questions(place, shelf)
    *answers, rows = await unit.together([*asked, ("embeddings_all", {})])
    if ask.number:
        found = embeddings.active(embeddings.read(rows))
        if found is None or found.number != ask.number:
            raise OutdatedIndexError
    shelf = await shelves.current(unit, place, shelf, answers)
    kept.keep(place, shelf)
    ranking = scores.scored(shelf, replace(ask.query, now=unit.now))
    return await _living(unit, ask, ranking)


async def _living(unit: Unit, ask: Ask, ranking: scores.Scored) -> list[Found]:
    """Go down the ranking, page by page, until enough are there."""
    wanted = ask.offset + ask.limit
    if not ask.limit:
        return []
    first = max(_FIRST, wanted + wanted // 4)
    rows = ranking.order(first, ask.floor)
    found = await _met(unit, ask, ranking, rows)
    if len(found) < wanted and len(rows) == first:
        more = ranking.order(None, ask.floor)[first:]
        for at in range(0, len(more), _PAGE):
            found += await _met(unit, ask, ranking, more[at : at + _PAGE])
            if len(found) >= wanted:
                break
    return await _records(unit, ask, ranking, found[ask.offset : wanted])


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
    return [Found(items.record(row[1:]), ranking.explain(by_id[row[0]])) for row in found]


def _where(unit: Unit, ask: Ask, ids: list[int]) -> dict[str, object]:
    low, high = namespaces.span(ask.prefix)
    return {"ids": json.dumps(ids), "low": low, "high": high, "now": unit.now, "shown": ask.shown}
