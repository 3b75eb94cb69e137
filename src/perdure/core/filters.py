"""Filters: what one may say, what of a value it looks at, and whether the two agree.

The meaning is written down in docs/reference/filters.md. A filter never becomes SQL: values are kept with a
projection, a JSON form that equality and order can be told from, and conditions are held against that.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import json
import numbers
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

from perdure import errors
from perdure.core.codec import Codec

__all__ = ["Condition", "Operator", "matches", "parse", "project", "read"]

Json = Any
_UNCLEAN: Final = re.compile("[\x00\ud800-\udfff]")
_LONGEST_INT: Final = 2**63
_MISSING: Final = object()
ABOUT: Final = "$about"
"""Where a projection has what is known about the item; a value's own fields never begin so."""
_PLAIN: Final = (bool, type(None))
_NUMBERS: Final = (int, float, numbers.Number)  # the last is slow to ask


class Operator(enum.StrEnum):
    """How a condition compares."""

    EQ = "$eq"
    NE = "$ne"
    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"


@dataclass(frozen=True, slots=True)
class Condition:
    """A field, an operator and what to compare with, the latter as a projection."""

    field: str
    operator: Operator
    operand: Json


# Conditions


def parse(given: object, codec: Codec) -> tuple[Condition, ...]:
    """Return the conditions of a filter, all of which must hold. Raises InvalidFilterError."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise errors.InvalidFilterError(f"a filter is a dict of field and value, not {type(given).__name__}")
    return tuple(found for field, wanted in given.items() for found in _conditions(field, wanted, codec))


def _conditions(field: object, wanted: object, codec: Codec) -> list[Condition]:
    if not isinstance(field, str):
        raise errors.InvalidFilterError(f"a filter's fields are strings, not {type(field).__name__}")
    if field.startswith("$"):
        raise errors.InvalidFilterError(
            f"{field!r} stands where a field is due; operators stand below their field: {{'age': {{'$gte': 18}}}}"
        )
    key = _key(field)
    if isinstance(wanted, Mapping) and any(isinstance(name, str) and name.startswith("$") for name in wanted):
        return [Condition(key, *_compared(field, name, operand, codec)) for name, operand in wanted.items()]
    operand = _operand(field, wanted, codec)
    _refuse_deep_operators(field, wanted)
    return [Condition(key, Operator.EQ, operand)]


def _compared(field: str, name: object, operand: object, codec: Codec) -> tuple[Operator, Json]:
    try:
        found = Operator(name)  # type: ignore[arg-type]
    except ValueError:
        raise errors.InvalidFilterError(
            f"{name!r} below {field!r} is no operator; there are {', '.join(Operator)}. "
            "To compare with an object that has such fields, write {'$eq': {…}}."
        ) from None
    projected = _operand(field, operand, codec)
    if found not in {Operator.EQ, Operator.NE} and _rank(projected) is None:
        raise errors.InvalidFilterError(
            f"{found} below {field!r} takes a number, a text, a date or a time, not {type(operand).__name__}"
        )
    return found, projected


def _operand(field: str, operand: object, codec: Codec) -> Json:
    try:
        codec.pack(operand)
    except errors.UnsupportedValueError as error:
        raise errors.InvalidFilterError(
            f"the value for {field!r} is of a kind that no item can hold: {error}"
        ) from error
    return project(operand, codec)


def _refuse_deep_operators(field: str, wanted: object) -> None:
    """Refuse what a user of other stores may mean as an operator, and which would silently match nothing here."""
    if isinstance(wanted, Mapping):
        for name, part in wanted.items():
            if isinstance(part, Mapping) and any(isinstance(key, str) and key.startswith("$") for key in part):
                raise errors.InvalidFilterError(
                    f"an operator stands below {name!r} inside {field!r}; operators stand directly below a field of "
                    "the item. To compare with an object that has such fields, write {'$eq': {…}}."
                )
            _refuse_deep_operators(field, part)


def matches(conditions: Sequence[Condition], projection: Mapping[str, Json]) -> bool:
    """Tell whether a value, by its projection, meets all conditions."""
    return all(_holds(projection.get(found.field, _MISSING), found) for found in conditions)


def _holds(value: Json, condition: Condition) -> bool:
    operand = condition.operand
    match condition.operator:
        case Operator.EQ:
            return _same(value, operand)
        case Operator.NE:
            return not _same(value, operand)
        case Operator.GT:
            return _ordered(value, operand, operator.gt)
        case Operator.GTE:
            return _ordered(value, operand, operator.ge)
        case Operator.LT:
            return _ordered(value, operand, operator.lt)
        case Operator.LTE:
            return _ordered(value, operand, operator.le)
        case _:
            assert_never(condition.operator)


def _same(one: Json, other: Json) -> bool:
    if isinstance(one, _PLAIN) or isinstance(other, _PLAIN):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(part, other[key]) for key, part in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) is not isinstance(other, dict):  # a number too large for JSON may equal one that isn't
        return _rank(one) is not None and _rank(one) == _rank(other)
    return bool(one == other)


def _ordered(value: Json, operand: Json, compare: Callable[[Any, Any], bool]) -> bool:
    one, other = _rank(value), _rank(operand)
    return one is not None and other is not None and one[0] == other[0] and compare(one[1], other[1])


def _rank(value: Json) -> tuple[str, Any] | None:
    """Return the kind and sort key of what has an order; only what is of one kind is compared."""
    if isinstance(value, int | float):
        return None if isinstance(value, bool) else ("number", value)
    if isinstance(value, str):
        return "text", value.encode()
    if isinstance(value, dict) and len(value) == 1:
        ((tag, body),) = value.items()
        return _TAGGED[tag](body) if tag in _TAGGED else None
    return None


_TAGGED: Final[dict[str, Callable[[str], tuple[str, Any]]]] = {
    "$int": lambda body: ("number", int(body, 16)),
    "$float": lambda body: ("number", float(body)),
    "$text": lambda body: ("text", bytes.fromhex(body)),
    "$moment": lambda body: ("moment", body),
    "$datetime": lambda body: ("datetime", body),
    "$date": lambda body: ("date", body),
    "$time": lambda body: ("time", body),
}


# Projections


def project(value: object, codec: Codec) -> Json:
    """Return the JSON form of a value that the codec can keep.

    What JSON has no word for is an object with one field whose name begins with ``$``; a value's own fields that
    begin so are escaped. Equal values have equal projections.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {_key(key): project(part, codec) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [project(part, codec) for part in value]
    return _leaf(value, codec)


def _leaf(value: object, codec: Codec) -> Json:
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, _NUMBERS):
        return _number(value, codec)
    if isinstance(value, dt.date | dt.time):
        return _time(value, codec)
    return _opaque(value, codec)


def write(value: dict[str, Any], codec: Codec, about: dict[str, Any] | None = None) -> str:
    """Return the projection of an item's value as text, without NUL or lone surrogates; `about` goes under $about."""
    found = project(value, codec)
    if about:
        found = {ABOUT: project(about, codec), **found}
    return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read(text: str) -> dict[str, Json]:
    """Return a projection from its text."""
    found: dict[str, Json] = json.loads(text)
    return found


def _key(name: str) -> str:
    name = str.__str__(name)
    if name.startswith("$") or _UNCLEAN.search(name):
        return f"$key:{name.encode('utf-8', 'surrogatepass').hex()}"
    return name


def _text(value: str) -> Json:
    return {"$text": value.encode("utf-8", "surrogatepass").hex()} if _UNCLEAN.search(value) else value


def _number(value: Any, codec: Codec) -> Json:
    if isinstance(value, numbers.Integral):
        found = int(value)
        return found if abs(found) < _LONGEST_INT else {"$int": hex(found)}
    if not isinstance(value, numbers.Real | decimal.Decimal):
        return _opaque(value, codec)
    try:
        real = float(value)
    except (OverflowError, ValueError):  # a fraction beyond the floats, a signalling NaN
        return _opaque(value, codec)
    return real if abs(real) < float("inf") else {"$float": repr(real)}


def _time(value: dt.date | dt.time, codec: Codec) -> Json:
    if isinstance(value, dt.time):
        return {"$time": value.isoformat("microseconds")} if value.tzinfo is None else _opaque(value, codec)
    if not isinstance(value, dt.datetime):
        return {"$date": value.isoformat()}
    if value.utcoffset() is None:
        return {"$datetime": value.replace(tzinfo=None).isoformat(timespec="microseconds")}
    try:
        return {"$moment": value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="microseconds")}
    except OverflowError:  # the first and last day of the calendar, in a far zone
        return _opaque(value, codec)


def _opaque(value: object, codec: Codec) -> Json:
    return {"$value": codec.digest(codec.pack(value)).hex()}
