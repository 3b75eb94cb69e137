"""The chart of the README: bytes and seconds by turns, on logarithmic axes, as a small SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from benchmarks import tables

__all__ = ["draw"]

Line = list[tuple[float, float]]

_WIDTH, _HEIGHT = 880, 380
_PANEL = {"top": 64, "bottom": 322, "width": 250}
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #3c4149 }
  .title { font-weight: 600; font-size: 14px }
  .axis { stroke: #8a919c; stroke-width: 1; stroke-opacity: .35 }
  .line { fill: none; stroke-width: 2.5 }
  .sqlite { stroke: #c2410c } text.sqlite { fill: #c2410c; stroke: none }
  .perdure { stroke: #0f766e } text.perdure { fill: #0f766e; stroke: none }
  .raw { stroke: #6b7280; stroke-dasharray: 5 4 } text.raw { fill: #6b7280; stroke: none }
  circle.sqlite, circle.perdure, circle.raw { stroke: none }
  circle.sqlite { fill: #c2410c } circle.perdure { fill: #0f766e } circle.raw { fill: #6b7280 }
  @media (prefers-color-scheme: dark) {
    text { fill: #d3d7de }
    .sqlite { stroke: #fb923c } text.sqlite, circle.sqlite { fill: #fb923c }
    .perdure { stroke: #2dd4bf } text.perdure, circle.perdure { fill: #2dd4bf }
    .raw { stroke: #9ca3af } text.raw, circle.raw { fill: #9ca3af }
  }
"""
_DROP = {"perdure": -2, "raw": 14}
_NAMES = {"sqlite": "SqliteSaver", "perdure": "Perdure", "raw": "raw text"}


def draw(results: dict[str, Any]) -> str:
    """Return the chart of the plain agent's rows, or an empty one if they were not measured."""
    rows = [row for row in results["measurements"].get("storage", {}).get("rows", ()) if row["base"] == "raw text"]
    plain = {_turns(row): row for row in rows if row["case"].startswith("plain")}
    parts = [*_panel("Bytes stored, by turns", 70, _series(plain, "medians"), "bytes")]
    parts += _panel("Seconds spent, by turns", 500, _series(plain, "seconds"), "s")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
    label = "One conversation with a plain agent, messages of 120 words; both axes are logarithmic"
    note = f'<text x="70" y="{_HEIGHT - 12}">{label}</text>'
    return "\n".join([head, f"<title>{label}</title>", f"<style>{_STYLE}</style>", *parts, note, "</svg>", ""])


def _turns(row: dict[str, Any]) -> int:
    return int(row["case"].split(", ")[1].split()[0].replace(",", ""))


def _series(plain: dict[int, dict[str, Any]], what: str) -> dict[str, Line]:
    found: dict[str, Line] = {}
    for turns, row in plain.items():
        values = row["medians"] if what == "medians" else row["notes"]["seconds"]
        for name in _NAMES:
            if name in values:
                found.setdefault(name, []).append((turns, values[name]))
    return found


def _panel(title: str, left: int, series: dict[str, Line], unit: str) -> Iterator[str]:
    """Yield a panel: its title, both axes, and the lines with what they are at their ends."""
    yield f'<text class="title" x="{left - 46}" y="30">{title}</text>'
    points = [point for line in series.values() for point in line]
    if not points:
        return
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    for power in range(low, high + 1):
        y = _scale(10.0**power, 10.0**low, 10.0**high, _PANEL["bottom"], _PANEL["top"])
        yield f'<path class="axis" d="M{left} {y}h{_PANEL["width"]}"/>'
        yield f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{_tick(power, unit)}</text>'
    right = left + _PANEL["width"]
    for turns in sorted(set(xs)):
        x = _scale(turns, min(xs), max(xs), left, right)
        yield f'<text x="{x}" y="{_PANEL["bottom"] + 20}" text-anchor="middle">{turns:,}</text>'
    for name, line in series.items():
        yield from _line(
            name,
            [
                (
                    _scale(x, min(xs), max(xs), left, right),
                    _scale(y, 10.0**low, 10.0**high, _PANEL["bottom"], _PANEL["top"]),
                )
                for x, y in line
            ],
            tables.amount(line[-1][1], unit),
        )


def _line(name: str, places: Line, last: str) -> Iterator[str]:
    path = "L".join(f"{x} {y}" for x, y in places)
    x, y = places[-1]
    # The stock saver's line ends before the others do: its name goes to its left, out of their way.
    place = f'x="{x - 8}" y="{y - 6}" text-anchor="end"' if name == "sqlite" else f'x="{x + 8}" y="{y + _DROP[name]}"'
    yield f'<path class="line {name}" d="M{path}"/>'
    yield from (f'<circle class="{name}" cx="{x}" cy="{y}" r="3"/>' for x, y in places)
    yield f'<text class="{name}" {place}>{_NAMES[name]} {last}</text>'


def _tick(power: int, unit: str) -> str:
    if unit == "bytes":
        return tables.amount(10.0**power, unit).replace(".00", "").replace(".0", "")
    return f"{10.0**power:g} s"


def _scale(value: float, low: float, high: float, start: float, end: float) -> float:
    share = (math.log(value) - math.log(low)) / ((math.log(high) - math.log(low)) or 1)
    return round(start + share * (end - start), 1)
