"""Items on PostgreSQL, beside the store for it that comes with LangGraph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from benchmarks import items, postgres
from benchmarks.rows import Row

__all__ = ["measure"]

NAME = "pg-items"
TITLE = "PostgreSQL: items: milliseconds of a call, and what a search finds"


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:  # noqa: ARG001 - one interface
    """Return the rows of a server."""

    @functools.cache
    def where(name: str, what: str) -> str:  # noqa: ARG001 - a database for each
        return postgres.database(name)

    return [*items.rows(where, tell, ("postgres-store",), items.Sizes(quick=quick))]
