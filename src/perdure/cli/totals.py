"""Totals of a tenant, and the size of the file."""

from __future__ import annotations

from typing import Any

from perdure.core import items
from perdure.core.unit import Unit
from perdure.engine import files
from perdure.langgraph.calls import Calls

__all__ = ["file_bytes", "of_tenant"]

_SUFFIXES = ("", "-wal", "-shm")


def of_tenant(calls: Calls) -> dict[str, Any]:
    """Return counts and bytes of a tenant, its rows by table, and the bytes of the file with its log."""
    found: dict[str, Any] = calls.read(calls.tenant(), _count)
    return {**found, "file_bytes": file_bytes(calls.engine.url)}


async def _count(unit: Unit) -> dict[str, Any]:
    threads, checkpoints, size = await unit.one("totals") or (0, 0, 0)
    rows: dict[str, int] = dict(await unit.all("row_counts"))
    found = {"tenant": unit.tenant, "threads": threads, "checkpoints": checkpoints, "thread_bytes": size}
    return {**found, "items": await items.count(unit, ()), "rows": rows}


def file_bytes(url: str) -> int:
    """Return how large a database's file is, with its write-ahead log."""
    path = files.parse(url).path
    if path is None:
        return 0
    places = [path.with_name(path.name + suffix) for suffix in _SUFFIXES]
    return sum(place.stat().st_size for place in places if place.exists())
