"""Needles: a text that the projection of an item holds if it meets a filter. To look for it costs next to nothing."""

from __future__ import annotations

from perdure.core.filters import projections
from perdure.core.filters.conditions import AllOf, Condition, Leaf, Test
from perdure.core.filters.projections import Json

__all__ = ["find"]

_LONG_FLOAT = 10**15
"""From here on a whole float may be written with an exponent."""


def find(condition: Condition) -> str:
    """Return the longest text that is in the projection of each item that meets a condition, as it is written."""
    if isinstance(condition, AllOf):
        return max(map(find, condition.parts), key=len, default="")
    if isinstance(condition, Leaf):
        start = _start(condition.operand) if condition.test is Test.EQ else ""
        return f"{projections.written(condition.path[-1])}:{start}"
    return ""


def _start(operand: Json) -> str:
    """Return how everything begins that equals an operand."""
    if isinstance(operand, list | dict):
        return ""
    if isinstance(operand, int | float) and not isinstance(operand, bool):
        if not operand or abs(operand) >= _LONG_FLOAT:  # -0.0 equals 0
            return ""
        return projections.written(operand).removesuffix(".0")
    return projections.written(operand)
