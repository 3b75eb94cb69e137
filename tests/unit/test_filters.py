"""Filters mean what docs/reference/filters.md says."""

from __future__ import annotations

import ast
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import operator
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure import errors
from perdure.core import filters
from perdure.core.codec import Codec
from perdure.core.filters import fields, jsonpaths, needles, parsing

PAGE = Path(__file__).parents[2] / "docs/reference/filters.md"
ROW = re.compile(r"^\| `(\{.*\})` \| `(\{.*\})` \| (match|no match|refused) \|$", re.MULTILINE)
EXAMPLES = ROW.findall(PAGE.read_text())
ORDERS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
UTC, TOKYO = dt.UTC, dt.timezone(dt.timedelta(hours=9))

texts = st.text(max_size=5) | st.sampled_from(["$eq", "$a", "a\x00", "\ud83d", "\ud83d\ude00", "😀", "610062"])
numbers = st.integers() | st.floats(allow_nan=False) | st.integers(-(2**70), 2**70)
leaves = st.none() | st.booleans() | numbers | texts
trees = st.recursive(
    leaves, lambda part: st.lists(part, max_size=3) | st.dictionaries(texts, part, max_size=3), max_leaves=8
)
objects = st.dictionaries(texts, trees, max_size=3)


class Color(enum.StrEnum):
    RED = "red"


class Shade(enum.Enum):
    DARK = 1


@dataclasses.dataclass(frozen=True)
class Point:
    x: int


@pytest.fixture(scope="module")
def codec():
    return Codec()


def found(codec, value, wanted):
    """Tell whether a filter finds a value that was stored."""
    projection = filters.read(filters.write(value, codec))
    return filters.matches(filters.parse(wanted, codec), projection)


def alike(one, other):
    """Tell what the rules call equal: Python's own answer, but for booleans, which are no numbers."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other


def test_the_page_has_examples_of_every_outcome_and_operator():
    assert len(EXAMPLES) > 30
    assert {outcome for _, _, outcome in EXAMPLES} == {"match", "no match", "refused"}
    unseen = [name for name in parsing.OPERATORS if not any(f'"{name}"' in wanted for _, wanted, _ in EXAMPLES)]
    assert unseen == []


def test_the_page_names_every_operator_and_every_field_about_an_item():
    rules = PAGE.read_text()
    assert [name for name in [*parsing.OPERATORS, *fields.ABOUT] if f"`{name}`" not in rules] == []


@pytest.mark.parametrize(("value", "wanted", "outcome"), EXAMPLES, ids=lambda part: part)
def test_an_example_of_the_page_is_true(codec, value, wanted, outcome):
    value, wanted = ast.literal_eval(value), ast.literal_eval(wanted)
    if outcome == "refused":
        with pytest.raises(errors.InvalidFilterError):
            filters.parse(wanted, codec)
    else:
        assert found(codec, value, wanted) is (outcome == "match")


@given(trees, trees)
@example(2**70, float(2**70))
@example(1, True)
@example(0, -0.0)
@example({"$text": "610062"}, "a\x00b")
@example({"$int": hex(2**70)}, 2**70)
@example({"a\x00": 1}, {"$key:6100": 1})
@example("\ud83d\ude00\x00", "😀\x00")
def test_equality_is_by_value(codec, one, other):
    for wanted in (one, other):
        assert found(codec, {"f": one}, {"f": {"$eq": wanted}}) is alike(one, wanted)
        assert found(codec, {"f": one}, {"f": {"$ne": wanted}}) is not alike(one, wanted)


def escaped(*keys):
    """Write a path as docs/reference/filters.md says."""
    path = ".".join(key.replace("\\", "\\\\").replace(".", "\\.") for key in keys)
    return f"\\{path}" if path.startswith(("@", "$")) else path


@given(objects, st.dictionaries(texts.filter(bool), trees, max_size=3))
@example({"a.b": 1}, {"a.b": 1})
@example({"a\\": 1}, {"a\\": 1})
@example({"@kind": 1}, {"@kind": 1})
@example({"a\nb": 1}, {"a\nb": 1})
@example({"$about": {"kind": 1}}, {"$about": {"kind": 1}})
def test_every_key_but_an_empty_one_can_be_named(codec, value, wanted):
    given = {escaped(key): {"$eq": part} for key, part in wanted.items()}
    expected = all(key in value and alike(value[key], part) for key, part in wanted.items())
    assert found(codec, value, given) is expected


@given(st.lists(texts.filter(bool), min_size=1, max_size=4), trees)
def test_a_path_leads_through_objects(codec, keys, part):
    value = part
    for key in reversed(keys):
        value = {key: value}
    assert found(codec, value, {escaped(*keys): {"$eq": part}})
    assert found(codec, {keys[0]: [value[keys[0]]]}, {escaped(*keys, "x"): {"$exists": False}})


@given(leaves, numbers | texts, st.sampled_from(sorted(ORDERS)))
@example(2**53 + 1, float(2**53), "$gt")
@example(2**70, float("inf"), "$lt")
@example("a\x00b", "a", "$gt")
@example("\ud83d", "😀", "$lt")
def test_order_is_that_of_numbers_and_of_texts(codec, value, operand, name):
    number = (int, float)
    both_numbers = isinstance(value, number) and not isinstance(value, bool) and isinstance(operand, number)
    both_texts = isinstance(value, str) and isinstance(operand, str)
    expected = (both_numbers or both_texts) and ORDERS[name](value, operand)
    assert found(codec, {"f": value}, {"f": {name: operand}}) is expected


@given(objects)
def test_a_projection_is_json_that_any_database_takes(codec, value):
    text = filters.write(value, codec)
    text.encode()
    assert "\\u0000" not in text
    assert not re.search(r"NaN|Infinity", re.sub(r'"(?:[^"\\]|\\.)*"', "", text))
    assert type(json.loads(text)) is dict


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        (float("nan"), float("nan"), True),
        (float("nan"), {"$lt": 1}, False),
        (float("inf"), {"$gt": 10**400}, True),
        (decimal.Decimal("9.5"), 9.5, True),
        (fractions.Fraction(1, 2), {"$lt": 0.6}, True),
        (np.int64(3), 3, True),
        (np.float32(0.5), {"$gte": 0.5}, True),
        pytest.param(10**5000, 10**5000, True, id="many digits"),
        pytest.param(10**5000, {"$gt": 10**4999}, True, id="more digits"),
        (1j, 1j, True),
        (1j, 2j, False),
        (Color.RED, "red", True),
        ("red", Color.RED, True),
        (Shade.DARK, Shade.DARK, True),
        (Shade.DARK, 1, False),
        (b"ab", b"ab", True),
        (b"ab", "ab", False),
        ({1, 2, 3}, {3, 2, 1}, True),
        ({1: "one"}, {1: "one"}, True),
        (Point(1), Point(1), True),
        (Point(1), Point(2), False),
        (dt.datetime(2026, 1, 1, 9, tzinfo=TOKYO), dt.datetime(2026, 1, 1, tzinfo=UTC), True),
        (dt.datetime(2026, 1, 1, tzinfo=UTC), {"$gt": dt.datetime(2026, 1, 1, tzinfo=TOKYO)}, True),
        (dt.datetime(999, 1, 1), {"$lt": dt.datetime(2026, 1, 1)}, True),  # noqa: DTZ001
        (dt.datetime(2026, 1, 1), {"$lt": dt.datetime(2027, 1, 1, tzinfo=UTC)}, False),  # noqa: DTZ001
        (dt.datetime(1, 1, 1, tzinfo=TOKYO), dt.datetime(1, 1, 1, tzinfo=TOKYO), True),
        (dt.date(2026, 1, 2), {"$gt": dt.date(2026, 1, 1)}, True),
        (dt.date(2026, 1, 2), {"$gt": "2026-01-01"}, False),
        (dt.time(9), {"$lt": dt.time(10, 30)}, True),
        ({"$moment": "2026"}, {"$eq": {"$moment": "2026"}}, True),
        ({"$moment": "2026"}, {"$gt": dt.datetime(2020, 1, 1, tzinfo=UTC)}, False),
    ],
)
def test_values_that_json_has_no_word_for_are_compared_by_their_kind(codec, value, wanted, expected):
    assert found(codec, {"f": value}, {"f": wanted}) is expected


@pytest.mark.parametrize("name", sorted(fields.ABOUT))
def test_what_is_known_about_an_item_is_apart_from_its_value(codec, name):
    *way, last = name.removeprefix("@").split(".")
    about = {last: "x"}
    for key in reversed(way):
        about = {key: about}
    plain = name.removeprefix("@")
    for known, value in [(about, {}), (None, about), (None, {"$about": about}), (None, {name: "x"})]:
        projection = filters.read(filters.write(value, codec, known))
        assert filters.matches(filters.parse({name: "x"}, codec), projection) is (known is not None)
        assert filters.matches(filters.parse({plain: "x"}, codec), projection) is (value == about)
        assert filters.matches(filters.parse({rf"\$about.{plain}": "x"}, codec), projection) is ("$about" in value)


def test_a_time_about_an_item_has_an_order(codec):
    about = {"valid_to": dt.datetime(2026, 1, 1, tzinfo=UTC), "confidence": 0.5}
    projection = filters.read(filters.write({"n": 1}, codec, about))
    wanted = {"@valid_to": {"$lt": dt.datetime(2026, 1, 2, tzinfo=TOKYO)}, "@confidence": {"$gte": 0.5}, "n": 1}
    assert filters.matches(filters.parse(wanted, codec), projection)


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ([], "the filter takes a dict"),
        ({1: 2}, "in the filter, a field is no string but int"),
        ({"age": {"$near": 1}}, "'$near' below 'age' is no operator"),
        ({"age": {"$gt": 1, "x": 2}}, "'x' below 'age' is no operator"),
        ({"age": {"$gt": 1, 2: 2}}, "2 below 'age' is no operator"),
        ({"$or": [{"a": 1}, {"age": {"$gt": None}}]}, "'$or[1].age.$gt' takes a number"),
        ({"$and": [{"$not": {"age": {"$not": {"$lt": True}}}}]}, "'$and[0].$not.age.$not.$lt' takes a number"),
        ({"age": {"$gte": float("nan")}}, "'age.$gte' takes a number"),
        ({"age": {"$in": "ab"}}, "'age.$in' takes a list of values, not str"),
        ({"age": {"$nin": {1, 2}}}, "'age.$nin' takes a list of values, not set"),
        ({"age": {"$in": [1, object()]}}, "'age.$in[1]' is of a kind that no item can hold"),
        ({"age": {"$exists": 1}}, "'age.$exists' takes True or False, not int"),
        ({"age": {"$not": {}}}, "'age.$not' takes a dict of operators below a field, not dict"),
        ({"age": {"$not": {"a": 1}}}, "'age.$not' takes a dict of operators"),
        ({"age": {"$and": [{"a": 1}]}}, "'age.$and' stands below a field"),
        ({"$not": [{"a": 1}]}, "'$not' takes a dict of field and value, not list"),
        ({"$and": {"a": 1}}, "'$and' takes a list of filters, not dict"),
        ({"$or": []}, "'$or' takes a list of at least one filter"),
        ({"$or": [{"a": 1}, 5]}, "'$or[1]' takes a dict of field and value, not int"),
        ({"$gt": 1}, "'$gt' stands where a field is due"),
        ({"a": {"b": {"$gt": 1}}}, "an operator stands below 'b' inside 'a'"),
        ({"a..b": 1}, "'a..b' names an empty key"),
        ({".a": 1}, "'.a' names an empty key"),
        ({"a.": 1}, "'a.' names an empty key"),
        ({"": 1}, "the filter names an empty key"),
        ({"a\\b": 1}, "has a backslash that escapes nothing"),
        ({"a\\": 1}, "has a backslash that escapes nothing"),
        ({"$or": [{"@type": 1}]}, "'$or[0].@type' is not known about items"),
        ({"@source": 1}, "'@source' is not known about items"),
    ],
)
def test_a_refusal_names_the_place(codec, wanted, place):
    with pytest.raises(errors.InvalidFilterError) as caught:
        filters.parse(wanted, codec)
    assert place in str(caught.value)


def test_a_refusal_shows_how_to_write_it(codec):
    for wanted, shown in [("a..b", r"a\.b"), ("@type", r"\@type"), ("$ref", r"\$ref"), ("a\\b", r"a\\b")]:
        with pytest.raises(errors.InvalidFilterError) as caught:
            filters.parse({wanted: 1}, codec)
        assert shown in str(caught.value)
    with pytest.raises(errors.InvalidFilterError) as caught:
        filters.parse({"@type": 1}, codec)
    assert all(name in str(caught.value) for name in fields.ABOUT)


def nested(levels, step):
    wanted = {"n": {"$gt": 1}}
    for _ in range(levels):
        wanted = step(wanted)
    return wanted


@pytest.mark.parametrize("step", [lambda part: {"$not": part}, lambda part: {"$or": [part, {"n": 2}]}])
def test_a_filter_has_at_most_20_levels(codec, step):
    assert found(codec, {"n": 2}, nested(20, step))
    with pytest.raises(errors.InvalidFilterError, match="at most 20 levels"):
        filters.parse(nested(21, step), codec)


def test_a_filter_has_at_most_1000_conditions(codec):
    assert found(codec, {"n": 999}, {"$or": [{"n": number} for number in range(1000)]})
    with pytest.raises(errors.InvalidFilterError, match=r"\$or\[1000\].n' is one too many"):
        filters.parse({"$or": [{"n": number} for number in range(1001)]}, codec)
    with pytest.raises(errors.InvalidFilterError, match="at most 1000 conditions"):
        filters.parse(nested(20, lambda part: {"$and": [{}] * 100 + [part]}), codec)
    many = {"$in": list(range(10_000))}
    assert found(codec, {"n": 9_999}, {"n": many})


def test_an_empty_filter_says_nothing_and_its_negation_everything(codec):
    assert not filters.parse({}, codec)
    assert not filters.parse(None, codec)
    assert filters.parse({"n": {"$exists": False}}, codec)
    assert not found(codec, {"n": 1}, {"$not": {}})
    assert found(codec, {"n": 1}, {"$or": [{}, {"n": 2}]})


def test_a_needle_is_what_all_that_matches_has_in_its_text(codec):
    for wanted, expected in [
        ({"n": 9.0}, '"n":9'),
        ({"n": 0}, '"n":'),
        ({"n": 1e23}, '"n":'),
        ({"u.role": "admin", "b": True}, '"role":"admin"'),
        ({"s": {"$contains": "x"}}, '"s":'),
        ({"$not": {"n": 9}}, ""),
        ({"$or": [{"n": 9}]}, ""),
        ({'"': 'é"'}, '"\\"":"é\\""'),
    ]:
        assert needles.find(filters.parse(wanted, codec).condition) == expected


def test_a_path_is_exact_unless_something_can_not_be_said(codec):
    for wanted, exact in [
        ({"n": 9, "s": {"$contains": "x"}}, True),
        ({"n": {"$gt": 2**53}, "s": "x"}, False),
        ({"$not": {"$or": [{"n": 2**53}, {"s": "x"}]}}, False),
        ({"$or": [{"n": 2**53}, {"s": "x"}]}, None),
        ({"n": {"$in": [2**53]}}, None),
        ({"n": {"$in": list(range(1000))}}, None),
        ({"n": [0] * 10_000}, None),
    ]:
        narrowed = jsonpaths.narrow(filters.parse(wanted, codec).condition)
        assert (narrowed and narrowed.exact) is exact


def test_a_filter_that_is_nested_without_end_is_refused(codec):
    endless = {}
    endless["a"] = endless
    circle = {}
    circle["$and"] = [circle]
    with pytest.raises(errors.InvalidFilterError):
        filters.parse(circle, codec)
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for wanted in (endless, {"f": deep}, {"f": {"$eq": endless}}):
        with pytest.raises(errors.InvalidFilterError):
            filters.parse(wanted, codec)
    while deep:
        deep = deep["a"]
