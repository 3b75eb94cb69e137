"""Fill the figures of the pages and the chart from results.json: python -m benchmarks.figures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks import chart, results, tables

__all__ = ["PAGES", "figures", "fill", "write"]

_ROOT = results.FOLDER.parent
PAGES = (_ROOT / "README.md", _ROOT / "README.zh-CN.md", _ROOT / "docs/explanation/measurements.md")
CHART = results.FOLDER / "chart.svg"

_FIGURE = re.compile(r"(<!-- figure:(\w+) -->).*?(<!-- /figure -->)", re.DOTALL)
_TABLE = re.compile(r"(<!-- table:(\w+) -->\n).*?(<!-- /table -->)", re.DOTALL)


def figures(found: dict[str, Any]) -> dict[str, str]:
    """Return every figure that a page may show, by its name."""
    turns = max(_stock_turns(found), default=0)
    case = f"plain, {turns:,} turns"
    machine = found["machine"]
    packages = machine["packages"]
    return {
        "turns": f"{turns:,}",
        "stock_bytes": _bytes(found, case, "sqlite"),
        "perdure_bytes": _bytes(found, case, "perdure"),
        "date": machine["date"],
        "machine": f"{machine['cpus']} CPUs, {machine['architecture']}, {machine['syncs a second']:,} syncs a second",
        "versions": f"Python {machine['python']}, "
        + ", ".join(f"{name} {version}" for name, version in packages.items()),
    }


def _stock_turns(found: dict[str, Any]) -> list[int]:
    rows = found["measurements"]["storage"]["rows"]
    cases = [row["case"] for row in rows if row["base"] and "sqlite" in row["medians"]]
    return [int(match[1].replace(",", "")) for case in cases if (match := re.fullmatch(r"plain, ([\d,]+) turns", case))]


def _bytes(found: dict[str, Any], case: str, contestant: str) -> str:
    size = results.value(found, "storage", case, contestant)
    return tables.amount(size, "bytes") if size is not None else "…"


def fill(page: str, found: dict[str, Any]) -> str:
    """Return a page with its figures and its tables."""
    known = figures(found)
    page = _FIGURE.sub(lambda match: f"{match[1]}{known[match[2]]}{match[3]}", page)
    return _TABLE.sub(lambda match: f"{match[1]}{tables.markdown(found, match[2])}\n{match[3]}", page)


def write() -> list[Path]:
    """Fill the pages and draw the chart; return what changed."""
    found = results.load()
    wanted = {page: fill(page.read_text(), found) for page in PAGES}
    wanted[CHART] = chart.draw(found)
    changed = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in changed:
        path.write_text(wanted[path])
    return changed


if __name__ == "__main__":
    for path in write():
        print(path.relative_to(_ROOT))
