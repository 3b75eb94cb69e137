"""Matching: the one evaluator of filters. What it says is right; what an engine does before is only for speed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, assert_never

from perdure.core.filters import projections
from perdure.core.filters.conditions import AllOf, AnyOf, Condition, Leaf, Not, Test
from perdure.core.filters.projections import Json

__all__ = ["Check", "check"]

Check = Callable[[Mapping[str, Json]], bool]
_Holds = Callable[[Json], bool]
_MISSING: Final = object()
_ORDERS: Final[dict[Test, Callable[[Any, Any], bool]]] = {
    Test.GT: operator.gt,
    Test.GTE: operator.ge,
    Test.LT: operator.lt,
    Test.LTE: operator.le,
}


def check(condition: Condition) -> Check:
    """Return what tells whether an item, by its projection, meets a condition. Made once, asked for each item."""
    match condition:
        case Leaf():
            return _field(condition.path, _test(condition))
        case Not(part):
            inner = check(part)
            return lambda item: not inner(item)
        case AllOf(parts):
            return _all([check(part) for part in parts])
        case AnyOf(parts):
            return _any([check(part) for part in parts])
        case _:
            assert_never(condition)


def _all(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]

    def run(item: Mapping[str, Json]) -> bool:
        for found in checks:  # noqa: SIM110 - twice as fast as all(…)
            if not found(item):
                return False
        return True

    return run


def _any(checks: list[Check]) -> Check:
    def run(item: Mapping[str, Json]) -> bool:
        for found in checks:  # noqa: SIM110 - as above
            if found(item):
                return True
        return False

    return run


def _field(path: tuple[str, ...], holds: _Holds) -> Check:
    *way, last = path

    def run(item: Any) -> bool:
        for key in way:
            item = item.get(key)
            if type(item) is not dict:
                return False
        value = item.get(last, _MISSING)
        return value is not _MISSING and holds(value)

    return run


def _test(leaf: Leaf) -> _Holds:
    match leaf.test:
        case Test.EQ:
            return _equals(leaf.operand)
        case Test.GT | Test.GTE | Test.LT | Test.LTE:
            return _ordered(leaf.operand, _ORDERS[leaf.test])
        case Test.IN:
            wanted = frozenset(map(_frozen, leaf.operand))
            return lambda value: _frozen(value) in wanted
        case Test.EXISTS:
            return lambda _: True
        case Test.CONTAINS:
            return _contains(leaf.operand)
        case _:
            assert_never(leaf.test)


def _equals(operand: Json) -> _Holds:
    if operand is None or isinstance(operand, bool):
        return lambda value: value is operand
    if isinstance(operand, str):
        return lambda value: bool(value == operand)
    wanted = _frozen(operand)
    return lambda value: bool(_frozen(value) == wanted)


def _ordered(operand: Json, compare: Callable[[Any, Any], bool]) -> _Holds:
    found = projections.rank(operand)
    assert found is not None, "a filter that was parsed"  # noqa: S101 - what parsing guarantees
    kind, key = found

    def holds(value: Json) -> bool:
        other = projections.rank(value)
        return other is not None and other[0] == kind and compare(other[1], key)

    return holds


def _contains(operand: Json) -> _Holds:
    wanted, wanted_text = _frozen(operand), projections.text(operand)

    def holds(value: Json) -> bool:
        if isinstance(value, list):
            return any(_frozen(part) == wanted for part in value)
        text = projections.text(value)
        return text is not None and wanted_text is not None and wanted_text in text

    return holds


def _frozen(value: Json) -> object:
    """Return what is equal, in Python's sense, for all that is equal by the rules; a boolean isn't 1."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("list", *map(_frozen, value))
    if isinstance(value, dict):
        found = projections.rank(value)
        if found is not None and found[0] == "number":  # one too large for JSON may equal one that isn't
            return found[1]
        return ("object", frozenset((key, _frozen(part)) for key, part in value.items()))
    return value  # a text, a number or None: hashes and equals as the rules say
