"""Filters: what one may say, what of an item it looks at, and whether the two agree.

The meaning is written down in docs/reference/filters.md, and `matching` decides it, on every engine. A filter never
becomes SQL: items are kept with a projection, a JSON form that equality and order can be told from, and conditions are
held against that. An engine may be asked to leave out items that can't match; that is only for speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from perdure.core.codec import Codec
from perdure.core.filters import jsonpaths, matching, needles, parsing
from perdure.core.filters.conditions import EVERYTHING, Condition
from perdure.core.filters.projections import ABOUT, project, read, write

__all__ = ["ABOUT", "Filter", "matches", "parse", "project", "read", "write"]


@dataclass(frozen=True)
class Filter:
    """What an item has to meet; false if it says nothing."""

    condition: Condition

    def __bool__(self) -> bool:
        return self.condition != EVERYTHING

    @cached_property
    def matches(self) -> matching.Check:
        """What tells whether an item, by its projection, meets the filter."""
        return matching.check(self.condition)

    @cached_property
    def narrowed(self) -> jsonpaths.Narrowed | None:
        """What PostgreSQL can leave items out by, if there is anything."""
        return jsonpaths.narrow(self.condition)

    @cached_property
    def needle(self) -> str:
        """A text that stands in the projection of each item that meets the filter; perhaps an empty one."""
        return needles.find(self.condition)


def parse(given: object, codec: Codec) -> Filter:
    """Return a filter that has been checked. Raises InvalidFilterError."""
    return Filter(EVERYTHING if given is None else parsing.parse(given, codec))


def matches(wanted: Filter, projection: Mapping[str, Any]) -> bool:
    """Tell whether an item, by its projection, meets a filter."""
    return wanted.matches(projection)
