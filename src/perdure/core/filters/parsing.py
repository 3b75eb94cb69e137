"""Parsing: whether a filter has a meaning, and which. All that is wrong is said before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from perdure import errors
from perdure.core.codec import Codec
from perdure.core.filters import fields, projections
from perdure.core.filters.conditions import AllOf, AnyOf, Condition, Leaf, Not, Test
from perdure.core.filters.projections import Json

__all__ = ["DEEPEST", "LARGEST", "OPERATORS", "parse"]

DEEPEST: Final = 20
LARGEST: Final = 1000
_GROUPS: Final[dict[str, type[AllOf | AnyOf]]] = {"$and": AllOf, "$or": AnyOf}
_NEGATED: Final = {"$ne": Test.EQ, "$nin": Test.IN}
OPERATORS: Final = (*Test, *_NEGATED, *_GROUPS, "$not")
_UNORDERED: Final = {Test.EQ, Test.CONTAINS}
_LITERAL: Final = "To compare with an object that has such fields, write {'$eq': {…}}."


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a filter something stands, as `$or[1].age.$gt`, and below how many `$and`, `$or` and `$not`."""

    path: str = ""
    depth: int = 0

    def at(self, name: str | int) -> _Place:
        step = f"[{name}]" if isinstance(name, int) else f".{name}" if self.path else name
        return _Place(self.path + step, self.depth)

    def deeper(self) -> _Place:
        if self.depth == DEEPEST:
            raise errors.InvalidFilterError(f"{self} goes too deep; a filter has at most {DEEPEST} levels")
        return _Place(self.path, self.depth + 1)

    def __str__(self) -> str:
        return repr(self.path) if self.path else "the filter"


@dataclass(frozen=True, slots=True)
class _Parser:
    """Parses one filter. `counter` counts its conditions."""

    codec: Codec
    counter: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def filter(self, given: object, place: _Place) -> Condition:
        if not isinstance(given, Mapping):
            raise _wrong(place, "a dict of field and value", given)
        if not given:
            self._count(place)
        return _joined([self._entry(name, wanted, place) for name, wanted in given.items()])

    def _entry(self, name: object, wanted: object, place: _Place) -> Condition:
        if not isinstance(name, str):
            raise errors.InvalidFilterError(f"in {place}, a field is no string but {type(name).__name__}")
        name = str.__str__(name)
        place = place.at(name)
        if name in _GROUPS:
            return self._group(_GROUPS[name], wanted, place)
        if name == "$not":
            return Not(self.filter(wanted, place.deeper()))
        if name.startswith("$"):
            raise errors.InvalidFilterError(
                f"{place} stands where a field is due; operators stand below their field: {{'age': {{'$gte': 18}}}}. "
                r"For a key of the value that begins with a $, write a backslash before it: \$ref"
            )
        return self._field(fields.split(name, str(place)), wanted, place)

    def _group(self, kind: type[AllOf | AnyOf], wanted: object, place: _Place) -> Condition:
        parts, place = _listed(wanted, "filters", place), place.deeper()
        if not parts:
            raise errors.InvalidFilterError(f"{place} takes a list of at least one filter, not an empty one")
        return kind(tuple(self.filter(part, place.at(number)) for number, part in enumerate(parts)))

    def _field(self, path: tuple[str, ...], wanted: object, place: _Place) -> Condition:
        if _is_operators(wanted):
            return self._operators(path, wanted, place)
        leaf = self._leaf(path, Test.EQ, wanted, place)
        _refuse_deep_operators(wanted, place)
        return leaf

    def _operators(self, path: tuple[str, ...], wanted: Any, place: _Place) -> Condition:
        return _joined([self._operator(path, name, operand, place) for name, operand in wanted.items()])

    def _operator(self, path: tuple[str, ...], name: object, operand: object, place: _Place) -> Condition:
        if not isinstance(name, str) or name not in OPERATORS:
            raise errors.InvalidFilterError(
                f"{name!r} below {place} is no operator; there are {', '.join(OPERATORS)}. {_LITERAL}"
            )
        place = place.at(str.__str__(name))
        if name in _GROUPS:
            raise errors.InvalidFilterError(
                f"{place} stands below a field; {name} takes filters, and stands above fields"
            )
        if name == "$not":
            if not _is_operators(operand):
                raise _wrong(place, "a dict of operators below a field", operand)
            return Not(self._operators(path, operand, place.deeper()))
        if name in _NEGATED:
            return Not(self._leaf(path, _NEGATED[name], operand, place))
        leaf = self._leaf(path, Test(name), operand, place)
        return Not(leaf) if leaf.test is Test.EXISTS and operand is False else leaf

    def _leaf(self, path: tuple[str, ...], test: Test, operand: object, place: _Place) -> Leaf:
        self._count(place)
        if test is Test.EXISTS:
            if not isinstance(operand, bool):
                raise _wrong(place, "True or False", operand)
            return Leaf(path, test)
        if test is Test.IN:
            parts = enumerate(_listed(operand, "values", place))
            return Leaf(path, test, [self._operand(part, place.at(number)) for number, part in parts])
        projected = self._operand(operand, place)
        if test not in _UNORDERED and projections.rank(projected) is None:
            raise _wrong(place, "a number, a text, a date or a time", operand)
        return Leaf(path, test, projected)

    def _operand(self, operand: object, place: _Place) -> Json:
        try:
            self.codec.pack(operand)
        except errors.UnsupportedValueError as error:
            raise errors.InvalidFilterError(
                f"the value at {place} is of a kind that no item can hold: {error}"
            ) from error
        return projections.project(operand, self.codec)

    def _count(self, place: _Place) -> None:
        if next(self.counter) > LARGEST:
            raise errors.InvalidFilterError(
                f"{place} is one too many; a filter has at most {LARGEST} conditions. "
                "For one field and many values, use $in."
            )


def parse(given: object, codec: Codec) -> Condition:
    """Return the condition that a filter stands for. Raises InvalidFilterError."""
    return _Parser(codec).filter(given, _Place())


def _joined(parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _listed(given: object, what: str, place: _Place) -> Sequence[object]:
    if isinstance(given, list | tuple):
        return given
    raise _wrong(place, f"a list of {what}", given)


def _wrong(place: _Place, due: str, given: object) -> errors.InvalidFilterError:
    return errors.InvalidFilterError(f"{place} takes {due}, not {type(given).__name__}")


def _is_operators(given: object) -> bool:
    return isinstance(given, Mapping) and any(_is_operator(name) for name in given)


def _is_operator(name: object) -> bool:
    return isinstance(name, str) and name.startswith("$")


def _refuse_deep_operators(wanted: object, place: _Place) -> None:
    """Refuse what a user of other stores may mean as an operator, and which would silently match nothing here."""
    if not isinstance(wanted, Mapping):
        return
    for name, part in wanted.items():
        if _is_operators(part):
            raise errors.InvalidFilterError(
                f"an operator stands below {name!r} inside {place}; operators stand directly below a field, which may "
                f"be a path: {{'user.age': {{'$gte': 18}}}}. {_LITERAL}"
            )
        _refuse_deep_operators(part, place)
