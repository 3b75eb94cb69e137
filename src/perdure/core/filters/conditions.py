"""Conditions: what a filter says, once it has been checked. Of each pair of opposites only one is left, and `Not`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["EVERYTHING", "AllOf", "AnyOf", "Condition", "Leaf", "Not", "Test"]


class Test(enum.StrEnum):
    """How a leaf looks at its field."""

    EQ = "$eq"
    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"
    IN = "$in"
    EXISTS = "$exists"
    CONTAINS = "$contains"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A test of one field, which an absent field fails.

    `path`: keys of projections, from the top. `operand`: a projection; of IN a list of them, of EXISTS nothing.
    """

    path: tuple[str, ...]
    test: Test
    operand: Any = None


@dataclass(frozen=True, slots=True)
class Not:
    """Holds if its part doesn't."""

    part: Condition


@dataclass(frozen=True, slots=True)
class AllOf:
    """Holds if all of its parts do."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Holds if one of its parts does."""

    parts: tuple[Condition, ...]


Condition = Leaf | Not | AllOf | AnyOf
EVERYTHING: Final = AllOf(())
