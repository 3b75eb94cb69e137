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
    assert all(any(f'"{name}"' in wanted for _, wanted, _ in EXAMPLES) for name in ["$eq", "$ne", "$gt", "$gte", "$lt"])


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


@given(objects, objects)
def test_fields_are_taken_as_they_are(codec, value, wanted):
    wanted = {field: {"$eq": part} for field, part in wanted.items() if not field.startswith("$")}
    assert found(codec, value, wanted) is all(
        field in value and alike(value[field], part["$eq"]) for field, part in wanted.items()
    )


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


def test_a_filter_that_is_nested_without_end_is_refused(codec):
    endless = {}
    endless["a"] = endless
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for wanted in (endless, {"f": deep}, {"f": {"$eq": endless}}):
        with pytest.raises(errors.InvalidFilterError):
            filters.parse(wanted, codec)
    while deep:
        deep = deep["a"]
