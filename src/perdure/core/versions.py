"""Versions: what items were, where the policy keeps it. A version is gone when its own time is over, as an item is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from perdure.core import abouts, filters, items, namespaces
from perdure.core.items import Record
from perdure.model import About

if TYPE_CHECKING:
    from perdure.core.search.finding import Ask
    from perdure.core.unit import Unit

__all__ = ["Past", "at", "history", "search"]

_PAGE: Final = 256


@dataclass(frozen=True, slots=True)
class Past:
    """A version. `replaced_at` None: it is the item."""

    version: int
    updated_at: int
    replaced_at: int | None
    about: About
    value: bytes


async def history(unit: Unit, namespace: str, key: str, *, limit: int) -> list[Past]:
    """Return what an item is and was, the newest first."""
    where = {"namespace": namespace, "key": key, "now": unit.now}
    current, rows = await unit.together([("item_get", where), ("versions_of", {**where, "limit": limit})])
    records = [items.record(row) for row in current]
    found = [Past(one.version, one.updated_at, None, one.about, one.value) for one in records]
    found += [
        Past(version, updated_at, replaced_at, abouts.read(about), value)
        for version, updated_at, replaced_at, about, value in rows
    ]
    return found[:limit]


async def at(unit: Unit, namespace: str, key: str, moment: int) -> Record | None:
    """Return what an item was at a moment; None: it was not there, or is not kept."""
    where = {"namespace": namespace, "key": key, "now": max(unit.now, moment)}
    current, past = await unit.together([("item_get", where), ("version_at", {**where, "at": moment})])
    records = [record for record in map(items.record, [*current, *past]) if record.updated_at <= moment]
    return records[0] if records else None


async def search(unit: Unit, ask: Ask, moment: int) -> list[Record]:
    """Return the items below a prefix as they were at a moment and meet all conditions, the newest update first."""
    low, high = namespaces.span(ask.prefix)
    rows = await unit.all("items_at", low=low, high=high, at=moment, now=max(unit.now, moment), shown=ask.shown)
    ids, found = [row[0] for row in rows], list[Record]()
    for start in range(0, len(ids), _PAGE):
        if len(found) >= ask.offset + ask.limit:
            break
        page = await unit.all("items_then", ids=json.dumps(ids[start : start + _PAGE]))
        found += [items.record(row[1:]) for row in page if filters.matches(ask.conditions, filters.read(row[0]))]
    return found[ask.offset : ask.offset + ask.limit]
