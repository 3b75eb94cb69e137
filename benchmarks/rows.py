"""One row of a table: what each contestant needed for the same work, a ratio, and whether a target is met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

__all__ = ["Row", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """What the ratio of Perdure should be: at most (or at least) `limit`; `aim` is better still."""

    sign: Literal["<=", ">="]
    limit: float
    aim: float | None = None
    of: str = "perdure"

    def met(self, ratio: float) -> bool:
        """Return whether a ratio keeps to the limit."""
        return ratio <= self.limit if self.sign == "<=" else ratio >= self.limit

    def __str__(self) -> str:
        sign = {"<=": "≤", ">=": "≥"}[self.sign]
        return f"{sign} {self.limit:g}" + (f" (aim {self.aim:g})" if self.aim is not None else "")


@dataclass(frozen=True, slots=True)
class Row:
    """Values by contestant, one for each round. Ratios are taken within a round, then their median.

    `base` names the contestant that the others are divided by; with `speed` it is divided by them.
    """

    case: str
    unit: str
    rounds: Mapping[str, Sequence[float]]
    base: str | None = None
    base_name: str = ""
    speed: bool = False
    target: Target | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def ratios(self) -> dict[str, list[float]]:
        """Return the ratio of each contestant in each round."""
        if self.base is None:
            return {name: [*values] for name, values in self.rounds.items()}
        under = self.rounds[self.base]
        pairs = {name: [*zip(values, under, strict=True)] for name, values in self.rounds.items() if name != self.base}
        return {name: [b / v if self.speed else v / b for v, b in found] for name, found in pairs.items()}

    def as_json(self) -> dict[str, Any]:
        """Return the row as results.json holds it."""
        ratios = self.ratios()
        found: dict[str, Any] = {
            "case": self.case,
            "unit": self.unit,
            "rounds": max(len(values) for values in self.rounds.values()),
            "medians": {name: _short(median(values)) for name, values in self.rounds.items()},
            "base": self.base_name or self.base,
            "ratio": "base / value" if self.speed else "value / base" if self.base else "value",
            "ratios": {name: _short(median(values)) for name, values in ratios.items()},
            "spread": {name: [_short(min(values)), _short(max(values))] for name, values in ratios.items()},
        }
        if self.target is not None:
            found |= {"target": str(self.target), "met": self.target.met(_short(median(ratios[self.target.of])))}
        return found | ({"notes": dict(self.notes)} if self.notes else {})


def _short(value: float) -> float | int:
    """Return four digits: more would be noise."""
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")
