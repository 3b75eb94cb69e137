"""Totals of a tenant, and the size of the database."""

from __future__ import annotations

from typing import Any

from perdure.core import items
from perdure.core.unit import Unit
from perdure.langgraph.calls import Calls

__all__ = ["of_tenant"]


def of_tenant(calls: Calls) -> dict[str, Any]:
    """Return counts and bytes of a tenant, its rows by table, and the bytes that everything takes on disk."""
    found: dict[str, Any] = calls.read(calls.tenant(), _count)
    return {**found, "database_bytes": calls.engine.size()}


async def _count(unit: Unit) -> dict[str, Any]:
    threads, checkpoints, size = await unit.one("totals") or (0, 0, 0)
    rows: dict[str, int] = dict(await unit.all("row_counts"))
    found = {"tenant": unit.tenant, "threads": threads, "checkpoints": checkpoints, "thread_bytes": size}
    return {**found, "items": await items.count(unit, ()), "rows": rows}
