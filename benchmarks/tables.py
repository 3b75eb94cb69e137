"""Rows as a reader sees them: in a terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.contestants import LABELS

__all__ = ["amount", "markdown", "show"]

Columns = tuple[tuple[str, ...], ...]
_COLUMNS: Columns = (
    ("perdure",),
    ("perdure-memory",),
    ("sqlite", "async-sqlite", "sqlite-adapter"),
    ("postgres", "async-postgres"),
    ("inmemory",),
    ("keep",),
    ("none",),
    ("disk",),
    ("perdure-hybrid",),
    ("sqlite-store",),
    ("postgres-store",),
    ("inmemory-store",),
    ("floor",),
    ("text",),
    ("vector",),
    ("hybrid",),
    ("ranks",),
    ("nothing",),
    ("lost",),
    ("added",),
    ("added-file",),
    ("request",),
)
"""Contestants of one column; of the stock savers for one database only one takes part in a row, or is its base."""

_HEADINGS = {
    "perdure": "Perdure",
    "perdure-memory": "in memory",
    "sqlite": "stock SQLite",
    "postgres": "stock PostgreSQL",
    "inmemory": "InMemorySaver",
    "keep": "keeps objects",
    "none": "no saver",
    "disk": "disk",
    "perdure-hybrid": "hybrid",
    "sqlite-store": "SqliteStore",
    "postgres-store": "PostgresStore",
    "inmemory-store": "InMemoryStore",
    "floor": "numpy + one query",
    "text": "words",
    "vector": "vectors",
    "hybrid": "hybrid",
    "ranks": "hybrid by ranks",
    "nothing": "answered nothing, rightly",
    "lost": "lost",
    "added": "a turn",
    "added-file": "on a file",
    "request": "a request alone",
}
_SHOWN: dict[str, Columns] = {
    "results": (("perdure",), ("perdure-memory",), ("sqlite", "async-sqlite", "sqlite-adapter"), ("inmemory",)),
    "postgres": (("perdure",), ("postgres", "async-postgres")),
    "items": (("perdure",), ("perdure-hybrid",), ("sqlite-store",), ("postgres-store",), ("inmemory-store",)),
    "recall": (("text",), ("vector",), ("hybrid",), ("ranks",)),
    "floors": (("nothing",), ("lost",)),
    "context": (("added",), ("added-file",), ("request",)),
}
"""The columns of the tables in the documentation."""
_OF = {"items": ("items", "pg-items"), "recall": ("recall", "locomo"), "floors": ("recall",), "context": ("context",)}
"""The measurements of those tables that don't show all of one database's."""
_TAILS = {"context": ("a turn, as times", "shown")}
"""The notes that tables show beside the figures, instead of what a ratio of 1 is and of a target."""
_SAID = ("errors", "commits a turn", "ms a durable commit", "disk", "reads", "shown")


def amount(value: float, unit: str) -> str:
    """Return a value with its unit, as short as it is still right."""
    if unit == "bytes":
        scale, name = next(((s, n) for s, n in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if value >= s), (1, "bytes"))
        return f"{_number(value / scale)} {name}"
    if unit == "times":
        return _ratio(value)
    return f"{_number(value)} {unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _ratio(value: float) -> str:
    return f"{_number(value)} ×"


def _verdict(row: dict[str, Any]) -> str:
    return {True: "met", False: "missed", None: ""}[row.get("met")]


def _base(row: dict[str, Any]) -> str:
    """Return what a ratio of 1 is."""
    if row["base"] is None:
        return ""
    key = next((key for key in row["medians"] if key not in row["ratios"]), None)
    name = LABELS.get(row["base"], row["base"])
    return name if key is None else f"{name}, {amount(row['medians'][key], row['unit'])}"


def show(console: Console, measurement: dict[str, Any]) -> None:
    """Print the table of one measurement: ratios, the base they are of, and the targets."""
    rows = measurement["rows"]
    columns = [names for names in _COLUMNS if any(_of(row, names) for row in rows)]
    table = Table(title=measurement["title"], title_justify="left", title_style="bold")
    table.add_column("case", no_wrap=True)
    for names in columns:
        table.add_column(_HEADINGS[names[0]], justify="right", no_wrap=True)
    for heading in ("1 × is", "target", ""):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        cells = [_of(row, names) for names in columns]
        table.add_row(row["case"], *cells, _base(row), row.get("target", ""), _verdict(row))
    console.print(table)
    for row in rows:
        for name, note in row.get("notes", {}).items():
            if name in _SAID:
                console.print(f"  {row['case']}: {name}: {note}", highlight=False)


def _of(row: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the ratio of the first of these contestants that took part."""
    found = next((row["ratios"][name] for name in names if name in row["ratios"]), None)
    if found is None:
        return ""
    if row["unit"] == "share":
        return f"{found:.3f}"
    return amount(found, "ms") if row["unit"] == "ms" and row["base"] is None else _ratio(found)


def markdown(results: dict[str, Any], table: str = "results") -> str:
    """Return a table for the documentation, by its name in `_SHOWN`; "results" is what was measured on SQLite."""
    found = [one for name, one in results["measurements"].items() if _belongs(name, table)]
    columns = _SHOWN[table]
    headings = " | ".join(_HEADINGS[names[0]] for names in columns)
    tail = _TAILS.get(table, ())
    head = f"| case | {headings} | {' | '.join(tail or ('1 × is', 'target', ''))} |".replace("  |", " |")
    rule = f"|---|{'--:|' * len(columns)}{'---|' * (len(tail) or 3)}"
    return "\n".join([head, rule, *_lines(found, columns, tail)])


def _belongs(name: str, table: str) -> bool:
    if table in _OF:
        return name in _OF[table]
    return not any(name in of for of in _OF.values()) and name.startswith("pg-") == (table == "postgres")


def _lines(measurements: list[dict[str, Any]], columns: Columns, tail: tuple[str, ...]) -> Iterator[str]:
    for measurement in measurements:
        yield f"| **{measurement['title']}** |{' |' * (len(columns) + (len(tail) or 3))}"
        for row in measurement["rows"]:
            if any(_of(row, names) for names in columns):
                yield _line(row, columns, tail)


def _line(row: dict[str, Any], columns: Columns, tail: tuple[str, ...]) -> str:
    cells = [_of(row, names) for names in columns]
    ends = [row["notes"][name] for name in tail] if tail else [_base(row), row.get("target", ""), _verdict(row)]
    return f"| {row['case']} | {' | '.join([*cells, *ends])} |"
