"""Filters and items to try them on, and what filters mean, said once more: of Python's values, not of projections."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import operator

from hypothesis import strategies as st

TOKYO = dt.timezone(dt.timedelta(hours=9))
ORDERS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
KINDS = {"@kind": ("kind",), "@source.channel": ("source", "channel"), "@confidence": ("confidence",)}

# Few keys and values, so that what is looked for is often there, or nearly.
KEYS = ["a", "b", "c.d", '"', "'", "$eq", "$about", "$v", "@kind", "\\", "é", "\n", "a\x00", "\ud83d", " ", "*", '").x']
NUMBERS = [
    *(0, -0.0, 1, 1.0, -1, 0.5, decimal.Decimal("0.5"), 9, 90, 9.0, -3, 1e-7, 5e-324, 1e15, 10**15, 1e16, 10**16),
    *(2**53 - 1, float(2**53 - 1), 2**53, 2**53 + 1, float(2**53), 2**63 - 1, 2**63, float(2**63), 2**70, -(2**70)),
    *(10**22, 1e22, 10**23, 1e23, 1e308, -1e308, math.inf, -math.inf, 10**400),
]
TEXTS = [
    *("", "a", "ab", "b", "A", "1", "true", "null", "$eq", "%", "_", ".", "^a", "(", "\\", '"', "'", "\n", "\x7f", "é"),
    *(
        "e\u0301",
        "😀",
        "\ud83d",
        "\ude00",
        "\ud83d\ude00",
        "\x00",
        "a\x00",
        "a\x00b",
        "\uffff",
        "\u2028",
        "$text",
        "61",
    ),
]
TIMES = [
    *(dt.date(2026, 1, 1), dt.date(999, 1, 1), dt.time(9), dt.time(10, 30)),
    *(dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 1, 9, tzinfo=TOKYO), dt.datetime(2026, 1, 1)),  # noqa: DTZ001
]
OTHERS = [None, True, False, math.nan, b"a", frozenset({1}), {}, [], (), {1: 2}]
NESTED = [
    *(
        [0],
        [1],
        [True],
        [1.0],
        [None, 1, "a", []],
        ["a"],
        ("a",),
        ["ab"],
        ["a\x00"],
        ["a", "b"],
        ["b", "a"],
        [[]],
        [{}],
    ),
    *(
        [2**53],
        [1e23],
        [{"a": 1}],
        {"a": 1},
        {"a": 1.0},
        {"a": True},
        {"a": 1, "b": 2},
        {"a": None},
        {"$eq": 1},
        {"": 1},
    ),
    *({"a": {"b": [1]}}, {"a": {"b": [1, 2]}}, {"a": 2**70}, {"\x00": 1}, {'"': 1}, {"a": dt.date(2026, 1, 1)}),
]
EVERY = [*NUMBERS, *TEXTS, *TIMES, *OTHERS, *NESTED]

keys = st.sampled_from(["a", "b"]) | st.sampled_from(KEYS) | st.text(min_size=1, max_size=3)
numbers = st.sampled_from(NUMBERS) | st.sampled_from(NUMBERS) | st.integers() | st.floats(allow_nan=False)
texts = st.sampled_from(TEXTS) | st.text(max_size=4)
ordered = st.one_of(numbers, texts, st.sampled_from(TIMES))
leaves = st.one_of(numbers, texts, st.sampled_from(TIMES), st.sampled_from(OTHERS))
values = leaves | st.recursive(
    leaves,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.just("") | keys, part, max_size=3),
    max_leaves=5,
)
objects = st.builds(
    lambda rest, value: {**rest, "a": value}, st.dictionaries(st.just("") | keys, values, max_size=2), values
)
abouts = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["semantic", "a"]),
        "source": st.fixed_dictionaries({}, optional={"channel": st.sampled_from(["web", "a"])}),
        "confidence": st.sampled_from([0, 0.5, 1.0]),
    },
)
known = st.lists(st.tuples(objects, abouts), min_size=1, max_size=4)


def escaped(path):
    written = ".".join(key.replace("\\", "\\\\").replace(".", "\\.") for key in path)
    return f"\\{written}" if written.startswith(("@", "$")) else written


def near(value):
    """Return values that are equal to one, or all but."""
    if isinstance(value, int | float) and abs(value) < 1e300:
        return [value, value, float(value), int(value), value + 1, -value, bool(value)]
    if isinstance(value, str):
        return [value, value, value[:1], value[1:], value + "a", value + "\x00", value.swapcase()]
    if isinstance(value, list):
        return [value, tuple(value), value[1:], [*value, 1], value[::-1], *value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return [value, {**value, "a": 1}, dict(list(value.items())[1:]), {**value, "x": 1}]
    return [value]


def operators(value):
    """Return what stands below a field that has this value in some item."""
    close, all_in = st.sampled_from(near(value)), value if isinstance(value, list) else []
    order = st.sampled_from([one for one in near(value) if kind(one)] or [0]) | ordered
    one = st.one_of(
        st.tuples(st.sampled_from(["$eq", "$ne"]), close),
        st.tuples(st.sampled_from(["$eq", "$ne"]), leaves),
        st.tuples(st.sampled_from(sorted(ORDERS)), order),
        st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(close | leaves, max_size=4)),
        st.tuples(
            st.just("$contains"), st.sampled_from([*near(value), *(part for one in all_in for part in near(one))])
        ),
        st.tuples(st.just("$exists"), st.booleans()),
    )
    return st.lists(one, min_size=1, max_size=2).map(dict) | one.map(lambda pair: {"$not": dict([pair])})


def each(operand):
    """Return every operator with an operand, and its negation."""
    found = [{"$eq": operand}, {"$in": [operand]}, {"$in": ["?", None, 7, operand]}, {"$contains": operand}]
    found += [{name: operand} for name in ORDERS if kind(operand)]
    return [*found, *({"$not": one} for one in found)]


def parts(value, path=()):
    """Return every path into an object, and what is there."""
    for key, part in value.items():
        if key:
            yield (*path, key), part
            if isinstance(part, dict) and all(isinstance(name, str) for name in part):
                yield from parts(part, (*path, key))


def wanted(found):
    """Return filters that often say something about these items."""
    there = st.sampled_from([pair for value, _ in found for pair in parts(value)])
    absent = st.tuples(st.lists(keys, min_size=1, max_size=2).map(tuple), leaves)
    field = there.flatmap(lambda pair: st.tuples(st.just(escaped(pair[0])), operators(pair[1])))
    other = absent.flatmap(lambda pair: st.tuples(st.just(escaped(pair[0])), operators(pair[1])))
    about = st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(["semantic", "web", 0.5, 1]).flatmap(operators))
    said = st.lists(st.one_of(field, field, field, other, about), min_size=1, max_size=2).map(dict)
    return said | st.recursive(
        said,
        lambda part: st.one_of(
            st.fixed_dictionaries({"$not": part}),
            *(st.fixed_dictionaries({name: st.lists(part, min_size=1, max_size=3)}) for name in ("$and", "$or")),
        ),
        max_leaves=4,
    )


cases = known.flatmap(lambda found: st.tuples(st.just(found), st.lists(wanted(found), min_size=1, max_size=6)))


# The meaning


def meets(item, given):
    return all(_entry(item, name, part) for name, part in given.items())


def _entry(item, name, part):
    if name == "$not":
        return not meets(item, part)
    if name in {"$and", "$or"}:
        return {"$and": all, "$or": any}[name](meets(item, one) for one in part)
    value, about = item
    there, found = _looked_up(about or {}, KINDS[name]) if name in KINDS else _looked_up(value, _keys(name))
    return all(_holds(there, found, test, operand) for test, operand in part.items())


def _keys(field):
    found, letters = [""], iter(field)
    for letter in letters:
        if letter == ".":
            found.append("")
        else:
            found[-1] += next(letters) if letter == "\\" else letter
    return found


def _looked_up(value, path):
    for key in path:
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value) or key not in value:
            return False, None
        value = value[key]
    return True, value


def _holds(there, value, test, operand):  # noqa: PLR0911 - one for each operator
    match test:
        case "$not":
            return not all(_holds(there, value, name, part) for name, part in operand.items())
        case "$exists":
            return there is operand
        case "$eq":
            return there and alike(value, operand)
        case "$in":
            return there and any(alike(value, part) for part in operand)
        case "$ne" | "$nin":
            return not _holds(there, value, {"$ne": "$eq", "$nin": "$in"}[test], operand)
        case "$contains" if isinstance(value, list | tuple):
            return any(alike(part, operand) for part in value)
        case "$contains":
            return isinstance(value, str) and isinstance(operand, str) and operand in value
    return there and kind(value) == kind(operand) is not None and ORDERS[test](plain(value), plain(operand))


def kind(value):
    if isinstance(value, float | int | decimal.Decimal):
        return None if isinstance(value, bool) or math.isnan(plain(value)) else "number"
    if isinstance(value, dt.datetime | dt.time):
        return type(value), value.tzinfo is None
    return type(value) if isinstance(value, str | dt.date) else None


def plain(value):
    """Return a number that Python compares exactly, and that `math` takes."""
    if isinstance(value, int) and abs(value) > 10**300:
        return decimal.Decimal(value)
    return float(value) if isinstance(value, decimal.Decimal) else value


def alike(one, other):
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return one == other
