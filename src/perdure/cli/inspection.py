"""`perdure inspect`: what is in a database, and what it takes on disk."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

from perdure.cli import output, totals
from perdure.cli.commands import Run
from perdure.cli.output import Line, Reply
from perdure.core import text
from perdure.engine.figures import Figures, Migration, Table

__all__ = ["inspect"]


def inspect(run: Run) -> Reply:
    """Show what is in a database, and what it takes on disk.

    Rows are counted for one tenant. What a table takes, and on PostgreSQL about how many rows it has, is everybody's.
    """
    with run.memory() as (_, calls):
        counted = totals.of_tenant(calls)
        figures = calls.engine.figures()
        data = {
            "url": calls.engine.url,
            "schema": run.place,
            "version": figures.version,
            "bytes": figures.bytes,
            "tenant": {name: counted[name] for name in ("tenant", "threads", "items", "checkpoints", "thread_bytes")},
            "tables": [_table(table, counted["rows"]) for table in _tables(figures, counted["rows"])],
            "migrations": [_migration(migration) for migration in figures.migrations],
            "pools": figures.pools,
        }
    return Reply(data, _lines(data))


def _tables(figures: Figures, rows: dict[str, int]) -> list[Table]:
    """Return the tables; where the library can't measure them, their names."""
    return figures.tables or [Table(name, None, 0) for name in sorted(rows)]


def _table(table: Table, rows: dict[str, int]) -> dict[str, Any]:
    found = dataclasses.asdict(table)
    return {
        "name": found.pop("name"),
        "tenant_rows": rows.get(table.name),
        "estimated_rows": found.pop("rows"),
        **found,
    }


def _migration(migration: Migration) -> dict[str, Any]:
    when = datetime.fromtimestamp(migration.applied_at / 1e6, UTC).isoformat(timespec="seconds")
    return {"name": migration.name, "applied_at": when, "checksum_ok": migration.known}


def _lines(data: dict[str, Any]) -> list[Line]:
    tenant = data["tenant"]
    lines: list[Line] = [
        text.inline(f"{data['version']}, {data['url']}{', schema ' + data['schema'] if data['schema'] else ''}"),
        f"database: {output.size(data['bytes'])}",
        text.inline(f"tenant: {tenant['tenant']}, threads: {tenant['threads']}, items: {tenant['items']}"),
        "",
        *output.table(["table", "rows of tenant", "rows, about", "size", "indexes", "long values"], _rows(data)),
        "",
        *output.table(["migration", "applied", ""], map(_applied, data["migrations"])),
    ]
    for name, figures in data["pools"].items():
        lines += ["", text.inline(f"pool of {name}: {', '.join(f'{what} {count}' for what, count in figures.items())}")]
    return lines


def _rows(data: dict[str, Any]) -> list[list[object]]:
    found: list[list[object]] = []
    for table in data["tables"]:
        counts = [_known(table[name]) for name in ("tenant_rows", "estimated_rows")]
        sizes = [table[name] for name in ("bytes", "index_bytes", "overflow_bytes")]
        found.append([table["name"], *counts, *("" if size is None else output.size(size) for size in sizes)])
    return found


def _known(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _applied(migration: dict[str, Any]) -> list[object]:
    return [
        migration["name"],
        migration["applied_at"][:19].replace("T", " "),
        "ok" if migration["checksum_ok"] else "CHANGED",
    ]
