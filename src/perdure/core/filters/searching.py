"""Searching: which items of a range meet a filter. The engine leaves out what it can, the evaluator decides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from perdure.core.filters import Filter, projections

if TYPE_CHECKING:
    from perdure.core.unit import Unit

__all__ = ["find"]

_FIRST_PAGE: Final = 32
_PAGE: Final = 512
_ALL: Final = 2**62


async def find(unit: Unit, span: Mapping[str, object], wanted: Filter, *, limit: int, offset: int) -> list[int]:
    """Return the numbers of the items of a range that meet a filter, the newest update first.

    `span`: the parameters of the range.
    """
    if not limit:
        return []
    if not wanted:
        return await _newest(unit, span, limit=limit, offset=offset)
    found = wanted.narrowed if unit.distant else None
    if found is None:
        ids, size = await _newest(unit, span, limit=_ALL, offset=0), _FIRST_PAGE
    else:
        cut = offset + limit if found.exact else _ALL
        rows = await unit.all(
            "items_matching", path=found.path, variables=found.variables, needle=wanted.needle, limit=cut, **span
        )
        ids, size = [row[0] for row in rows], _PAGE
    return (await _matching(unit, ids, wanted, enough=offset + limit, size=size))[offset:]


async def _newest(unit: Unit, span: Mapping[str, object], *, limit: int, offset: int) -> list[int]:
    return [row[0] for row in await unit.all("items_newest", limit=limit, offset=offset, **span)]


async def _matching(unit: Unit, ids: list[int], wanted: Filter, *, enough: int, size: int) -> list[int]:
    """Look at projections, page by growing page, until enough of them match."""
    found: list[int] = []
    at = 0
    while at < len(ids) and len(found) < enough:
        page = json.dumps(ids[at : at + size])
        rows = await unit.all("items_candidates", ids=page, needle=wanted.needle)
        found += [number for number, text in rows if wanted.matches(projections.read(text))]
        at, size = at + size, min(2 * size, _PAGE)
    return found[:enough]
