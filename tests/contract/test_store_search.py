"""What a search of a store finds."""

from __future__ import annotations

import pytest
from langgraph.store.base import PutOp

from perdure import errors


@pytest.fixture
def store(memory, styled):
    return styled(memory.store)


def keys(store, *prefix, **options):
    return [item.key for item in store.search(tuple(prefix), **options)]


@pytest.fixture
def filled(store):
    values = {
        "a": {"n": 9, "s": "x", "u": {"role": "admin", "lvl": 1}, "tags": ["a", "b"], "z": None},
        "b": {"n": 10, "s": "y", "u": {"role": "user", "lvl": 2}, "tags": ["b"]},
        "c": {"s": "z"},
        "d": {"n": "unknown"},
        "e": {"n": 100},
        "g": {"n": 9.5, "b": True},
        "h": {"n": -3, "b": False},
    }
    store.batch([PutOp(("f",), key, value) for key, value in values.items()])
    return store


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"n": {"$gte": 10}}, "be"),
        ({"n": {"$gt": 9}}, "beg"),
        ({"n": {"$lt": 9.5}}, "ah"),
        ({"n": {"$lte": 9.5}}, "agh"),
        ({"n": {"$gte": 9, "$lt": 10}}, "ag"),
        ({"n": {"$eq": 9.0}}, "a"),
        ({"n": {"$ne": 9}}, "bcdegh"),
        ({"u": {"role": "admin", "lvl": 1}}, "a"),
        ({"u": {"role": "admin"}}, ""),
        ({"tags": ["b"]}, "b"),
        ({"b": True}, "g"),
        ({"b": 1}, ""),
        ({"z": None}, "a"),
        ({"s": {"$gte": "y"}}, "bc"),
        ({"s": "x", "n": 9}, "a"),
        ({}, "abcdegh"),
        (None, "abcdegh"),
        ({"x') OR '1'='1": 1}, ""),
        ({"n\"') UNION SELECT value FROM items --": 9}, ""),
        ({"$.n": 9}, None),
        ({"n": "9' OR '1'='1"}, ""),
        ({"n": {"$regex": "."}}, None),
        ({"n": {"$gt": {"$gt": ""}}}, None),
        ({"u": {"lvl": {"$gt": 0}}}, None),
        ("n = 9", None),
        ({9: 9}, None),
        ({"n": object()}, None),
    ],
)
def test_a_filter_finds_what_the_rules_say(filled, wanted, found):
    if found is None:
        with pytest.raises(errors.InvalidFilterError):
            filled.search(("f",), filter=wanted)
    else:
        assert sorted(keys(filled, "f", filter=wanted)) == list(found)


def test_a_filter_looks_into_no_other_namespace_or_tenant(memory, store, styled):
    other = styled(memory.scope(tenant="other").store)
    for where, space in [(store, ("f",)), (store, ("f2",)), (other, ("f",))]:
        where.put(space, f"{space[0]}-{where is other}", {"n": 1})
    assert keys(store, "f", filter={"n": 1}) == ["f-False"]
    assert keys(other, filter={"x') OR 1=1 --": 1}) == []


def test_a_filter_finds_a_rare_item_among_many(store):
    store.batch([PutOp(("f",), f"k{number}", {"n": number}) for number in range(1000)])
    assert keys(store, "f", filter={"n": 3}) == ["k3"]
    assert len(keys(store, "f", filter={"n": {"$lt": 700}}, limit=650)) == 650


def test_an_index_argument_is_ignored_without_an_index_but_not_nonsense(store):
    store.put(("f",), "k", {"a": 1}, index=False)
    store.put(("f",), "k", {"a": 1}, index=["a", "b[*].c"])
    with pytest.raises(errors.InvalidInputError):
        store.put(("f",), "k", {"a": 1}, index="a")


@pytest.mark.parametrize("number", [-1, 1.0, "1", True, None, 2**63])
def test_a_limit_or_offset_out_of_range_is_refused(store, number):
    for attempt in (
        lambda: store.search((), limit=number),
        lambda: store.search((), offset=number),
        lambda: store.list_namespaces(limit=number),
        lambda: store.list_namespaces(offset=number),
    ):
        with pytest.raises(errors.InvalidLimitError) as caught:
            attempt()
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("depth", [0, -1, 1.5, True])
def test_a_depth_below_one_is_refused(store, depth):
    with pytest.raises(errors.InvalidLimitError):
        store.list_namespaces(max_depth=depth)


def test_a_limit_of_nothing_finds_nothing(filled):
    assert keys(filled, "f", limit=0) == []
    assert keys(filled, "f", limit=0, filter={"n": 9}) == []


def test_of_the_items_of_one_batch_the_last_is_the_newest(store):
    store.batch([PutOp(("f",), key, {}) for key in ("m", "z", "a", "k")])
    assert [item.key for item in store.search(("f",))] == ["k", "a", "z", "m"]
