"""Any filter means what the rules say, and finds the same items on every engine."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import example, given, settings
from tests.meanings import EVERY, cases, each, meets

from perdure import Memory
from perdure.core import filters, items, namespaces
from perdure.core.codec import Codec
from perdure.core.filters import jsonpaths, needles
from perdure.core.unit import Unit

CODEC = Codec()


def test_every_operator_means_what_the_rules_say_of_every_pair_of_values():
    projections = [filters.read(filters.write({"a": value}, CODEC)) for value in EVERY]
    for one in itertools.chain.from_iterable(map(each, EVERY)):
        matches = filters.parse({"a": one}, CODEC).matches
        expected = [meets(({"a": value}, None), {"a": one}) for value in EVERY]
        assert [matches(projection) for projection in projections] == expected, one


@given(cases)
@settings(max_examples=100)
def test_a_filter_means_what_the_rules_say(case):
    found, asked = case
    for one in asked:
        said = filters.parse(one, CODEC)
        for value, about in found:
            projection = filters.read(filters.write(value, CODEC, about))
            assert filters.matches(said, projection) is meets((value, about), one), (value, about, one)


# The stores


def stored(memory, space, found):
    """Put items, with what is known about them."""

    async def work(tx):
        unit = Unit(tx, "default", 1)
        for place, (value, about) in enumerate(found):
            draft = items.Draft(
                namespace=namespaces.pack(space),
                key=str(place),
                value=CODEC.seal(CODEC.pack({"n": place})),
                projection=filters.write(value, CODEC, about),
                ttl=None,
                subject=None,
                place=place,
            )
            await items.put(unit, draft)

    memory.engine.write(work, tenant="default")


def compare(memory, space, case):
    found, asked = case
    stored(memory, space, found)
    projections = [filters.read(filters.write(*item[:1], CODEC, item[1])) for item in found]
    for one in asked:
        said = filters.parse(one, CODEC)
        expected = [place for place, item in enumerate(projections) if filters.matches(said, item)][::-1]
        assert [item.value["n"] for item in memory.store.search(space, filter=one, limit=1000)] == expected, one
        cut = [item.value["n"] for item in memory.store.search(space, filter=one, limit=2, offset=1)]
        assert cut == expected[1:3], one


@pytest.fixture
def compared(url):
    """Return what compares a store with the evaluator, in a namespace of its own for each case."""
    with Memory.open(url) as memory:
        numbers = itertools.count()
        yield lambda case: compare(memory, ("f", str(next(numbers))), case)


both = pytest.mark.parametrize("url", ["memory", "postgres"], indirect=True)


@both
def test_a_store_finds_every_value_by_every_operator(compared):
    compared(([({"a": value}, None) for value in EVERY], [{"a": one} for operand in EVERY for one in each(operand)]))


@both
def test_a_store_finds_what_the_evaluator_says(compared):
    @given(cases)
    @settings(max_examples=60)
    @example(([({"a": [{"b": 1}]}, None)], [{"a.b": {"$ne": 1}}]))
    @example(([({"a": [1, "x", None, True]}, None)], [{"a": {"$contains": "x"}}, {"a": {"$not": {"$contains": 2}}}]))
    @example(([({"a": {"b": {}, "c": [[]]}}, None)], [{"a": {"$eq": {"b": {}, "c": [[]]}}}, {"a": {"$ne": {"b": {}}}}]))
    @example(([({"a": 2**70}, None), ({"a": math.inf}, None)], [{"a": {"$gt": 1}}, {"a": {"$not": {"$lt": 1}}}]))
    @example(
        ([({"a": "a\x00b"}, None)], [{"a": {"$contains": "b"}}, {"a": {"$gt": "a"}}, {"a": {"$contains": "\x00"}}])
    )
    def check(case):
        compared(case)

    check()


def hundred(number):
    part = number
    for _ in range(95):
        part = [part]
    return part


@both
def test_what_is_long_or_deep_is_found_as_well(compared):
    found = [
        ({"n": n, "deep": hundred(n), "many": list(range(n, n + 500)), "long": "x" * 5000 + str(n)}, None)
        for n in (1, 2)
    ]
    path = ".".join(["p"] * 2000)
    asked = [
        {"deep": {"$eq": hundred(2)}},
        {"many": {"$eq": list(range(1, 501))}},
        {"many": {"$ne": list(range(1, 501))}},
        {"long": {"$contains": "x" * 5000}},
        {"long": "x" * 5000 + "2"},
        {"n": {"$in": list(range(2, 3000))}},
        {"$or": [{"n": {"$gt": n}} for n in range(1, 1001)]},
        {"$and": [{"n": {"$lt": n}} for n in range(2, 1002)]},
        {"$not": {"$or": [{"n": {"$gt": n}, "x": n} for n in range(1, 501)]}},
        {path: 1},
        {path: {"$exists": False}},
        {"k" * 100_000: {"$exists": False}},
    ]
    compared((found, asked))


LOST = [
    ("postgres", jsonpaths, "MODE", "lax", {"a": [{"b": 1}]}, {"a.b": {"$ne": 1}}),
    ("postgres", jsonpaths, "_EXACT", math.inf, {"a": 1e23}, {"a": {"$lt": 10**23}}),
    ("memory", needles, "_start", str, {"a": 9}, {"a": 9.0}),
]


@pytest.mark.parametrize(("url", "module", "name", "other", "value", "one"), LOST, indirect=["url"])
def test_the_control_a_store_that_leaves_out_too_much_is_seen(compared, monkeypatch, module, name, other, value, one):
    compared(([(value, None)], [one]))
    monkeypatch.setattr(module, name, other)
    with pytest.raises(AssertionError):
        compared(([(value, None)], [one]))


HOSTILE = [
    "x') OR '1'='1",
    "n') UNION SELECT 1, projection FROM items --",
    'n" ? (1 == 1)) || (1 == 1) || exists($."',
    'n")) || (exists($',
    "n\\\\",
    '"',
    '\\\\"',
    "$v0",
    '$"v0"',
    "n ? (@ == 1)",
    "*",
    "**",
    "n[*]",
    "%(tenant)s",
    ":tenant",
    "/* */ n",
    "n;DROP TABLE items",
]


@both
@pytest.mark.parametrize("key", HOSTILE)
def test_a_key_that_closes_what_it_stands_in_finds_nothing_but_itself(compared, url, key):
    named = key if key.startswith("\\\\") or "\\" in key else key.replace(".", "\\.")
    named = f"\\{named}" if named.startswith("$") else named
    raw = key.replace("\\\\", "\\")
    found = [({"n": 1, "s": "x"}, None), ({raw: 1}, None), ({"s": raw}, None), ({"s": [raw]}, None)]
    asked = [{named: 1}, {named: {"$ne": 1}}, {f"u.{named}": 1} if not named.startswith("\\$") else {named: 2}]
    asked += [{"s": raw}, {"s": {"$contains": raw}}, {"s": {"$in": [raw]}}, {"s": {"$gte": raw}}]
    compared((found, asked))
    said = filters.parse({named: 1}, CODEC)
    assert [filters.matches(said, filters.read(filters.write(value, CODEC))) for value, _ in found] == [
        False,
        True,
        False,
        False,
    ]
