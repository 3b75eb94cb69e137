"""Narrowing on PostgreSQL: a filter as one jsonpath and its variables, both of which are bound like any value.

The server finds every item that meets the filter, and perhaps more; `matching` decides. Keys, and texts to look for,
stand in the path quoted as JSON; operands are variables. The mode is `strict`, where a path never goes into a list by
itself. There, what can't be looked at is *unknown*: not true, but its negation isn't either. What stands negated goes
through a filter of the whole, `!exists($ ? (…))`, which takes unknown for false.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, assert_never

from perdure.core.filters import projections
from perdure.core.filters.conditions import AllOf, AnyOf, Condition, Leaf, Not, Test
from perdure.core.filters.projections import Json

__all__ = ["Narrowed", "narrow"]

MODE: Final = "strict"

_EXACT: Final = 2**53
"""From here on the shortest text of a float, which stands in JSON, is not the float."""
_LONGEST: Final = 50_000
"""Characters of a path."""
_LARGEST: Final = 2000
"""Tests of a path, with each part of an operand."""
_MOST: Final = 200
"""Operands of `$in`: the server looks at them one by one, `matching` at all of them at once."""
_LONGEST_PATTERN: Final = 200
_COMPARISONS: Final = {Test.GT: ">", Test.GTE: ">=", Test.LT: "<", Test.LTE: "<="}
_ABOVE: Final = {Test.GT, Test.GTE}
_ALWAYS: Final = "1 == 1"
_NEVER: Final = "1 == 0"


class _WideError(Exception):
    """What a path can't say, or only at too great a length."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A jsonpath and its variables as JSON. `exact`: it finds nothing but what meets the filter."""

    path: str
    variables: str
    exact: bool


def narrow(condition: Condition) -> Narrowed | None:
    """Return a jsonpath that is true for every projection that meets a condition, if there is one to speak of."""
    builder = _Builder()
    try:
        path = builder.condition(condition, wanted=True)
    except _WideError:
        return None
    if len(path) > _LONGEST:
        return None
    variables = json.dumps(builder.variables, ensure_ascii=False)
    return Narrowed(f"{MODE} ({path})", variables, exact=not builder.widened)


class _Builder:
    """Builds one path. A predicate, everywhere, is a text that speaks of what stands at `@`."""

    def __init__(self) -> None:
        self.variables: dict[str, Json] = {}
        self.widened = False
        self._tests = itertools.count(1)

    def condition(self, condition: Condition, *, wanted: bool) -> str:
        """Return a predicate that is true wherever the condition is what is wanted: met, or not."""
        match condition:
            case Leaf():
                return self._leaf(condition, wanted=wanted)
            case Not(part):
                return self.condition(part, wanted=not wanted)
            case AllOf(parts):
                return self._each(parts, wanted=True) if wanted else self._some(parts, wanted=False)
            case AnyOf(parts):
                return self._some(parts, wanted=True) if wanted else self._each(parts, wanted=False)
            case _:
                assert_never(condition)

    def _each(self, parts: Iterable[Condition], *, wanted: bool) -> str:
        found, wide = [], False
        for part in parts:
            try:
                found.append(self.condition(part, wanted=wanted))
            except _WideError:
                wide = True
        if wide and not found:
            raise _WideError
        self.widened |= wide
        return _joined("&&", found) or _ALWAYS

    def _some(self, parts: Iterable[Condition], *, wanted: bool) -> str:
        return _joined("||", [self.condition(part, wanted=wanted) for part in parts]) or _NEVER

    def _leaf(self, leaf: Leaf, *, wanted: bool) -> str:
        path = "".join(f".{_quoted(key)}" for key in leaf.path)
        found = f"exists(${path})" if leaf.test is Test.EXISTS else f"exists(${path} ? ({self._test(leaf)}))"
        return found if wanted else f"!exists($ ? ({found}))"

    def _test(self, leaf: Leaf) -> str:
        match leaf.test:
            case Test.EQ:
                return self._equals(leaf.operand)
            case Test.GT | Test.GTE | Test.LT | Test.LTE:
                return self._compares(leaf.test, leaf.operand)
            case Test.IN:
                return self._is_in(leaf.operand)
            case Test.CONTAINS:
                return self._contains(leaf.operand)
            case Test.EXISTS:
                return _ALWAYS
            case _:
                assert_never(leaf.test)

    def _equals(self, operand: Json) -> str:
        if next(self._tests) > _LARGEST:
            raise _WideError
        if isinstance(operand, list):
            parts = [f"exists(@[{place}] ? ({self._equals(part)}))" for place, part in enumerate(operand)]
            return _joined("&&", ['@.type() == "array"', f"@.size() == {len(operand)}", *parts])
        _refuse_inexact(operand)
        if isinstance(operand, dict):
            parts = [f"exists(@.{_quoted(key)} ? ({self._equals(part)}))" for key, part in operand.items()]
            further = f"exists(@.keyvalue() ? (!(@.key == {self._bound(list(operand))}[*])))"
            return _joined("&&", ['@.type() == "object"', *parts, f"!{further}"])
        return f"@ == {self._bound(operand)}"

    def _is_in(self, operands: list[Json]) -> str:
        if len(operands) > _MOST:
            raise _WideError
        texts = [part for part in operands if isinstance(part, str)]
        numbers = [part for part in operands if isinstance(part, int | float) and not isinstance(part, bool)]
        for part in numbers:
            _refuse_inexact(part)
        others = [self._equals(part) for part in operands if part is None or isinstance(part, bool | list | dict)]
        found = [f"@ == {self._bound(parts)}[*]" for parts in (texts, numbers) if parts]  # of one type each
        return _joined("||", [*found, *others]) or _NEVER

    def _compares(self, test: Test, operand: Json) -> str:
        _refuse_inexact(operand)
        sign = _COMPARISONS[test]
        if isinstance(operand, dict):
            ((tag, body),) = operand.items()
            if tag == "$text":  # clean texts can't be compared with it here
                raise _WideError
            return f"@.{_quoted(tag)} {sign} {self._bound(body)}"
        if isinstance(operand, str):
            return f'@ {sign} {self._bound(operand)} || @."$text" {sign} {self._bound(operand.encode().hex())}'
        start, endless = ("0x", "inf") if test in _ABOVE else ("-", "-inf")
        return f'@ {sign} {self._bound(operand)} || @."$int" starts with "{start}" || @."$float" == "{endless}"'

    def _contains(self, operand: Json) -> str:
        found = [f'@.type() == "array" && exists(@[*] ? ({self._equals(operand)}))']
        text = projections.text(operand)
        if text is not None:
            if len(text) > _LONGEST_PATTERN:
                raise _WideError
            found.append(f'@."$text" like_regex "^(?:..)*{text.encode("utf-8", "surrogatepass").hex()}"')
        if isinstance(operand, str):
            found.append(f'@ like_regex {_quoted(operand)} flag "q"')
        return _joined("||", found)

    def _bound(self, value: Json) -> str:
        name = f"v{len(self.variables)}"
        self.variables[name] = value
        return f'$"{name}"'


def _refuse_inexact(operand: Json) -> None:
    found = projections.rank(operand)
    if found is not None and found[0] == "number" and abs(found[1]) >= _EXACT:
        raise _WideError


def _joined(sign: str, parts: list[str]) -> str:
    """Return predicates as one, halved again and again: the server reads a long row of them by recursion."""
    if len(parts) < 2:
        return "".join(parts)
    half = len(parts) // 2
    return f"({_joined(sign, parts[:half])}) {sign} ({_joined(sign, parts[half:])})"


def _quoted(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)
