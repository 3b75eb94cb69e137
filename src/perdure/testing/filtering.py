"""Searches without a query: in order, in pages, and by a filter with one meaning."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.store.base import PutOp

from perdure.testing.opening import Called
from perdure.testing.setting import Setting, Wait, attempt, keys, needs

__all__ = ["Filtering"]

VALUES: dict[str, dict[str, Any]] = {
    "a": {"n": 9, "s": "x", "u": {"role": "admin", "lvl": 1}, "tags": ["a", "b"], "z": None},
    "b": {"n": 10, "s": "y", "u": {"role": "user", "lvl": 2}, "tags": ["b"]},
    "c": {"s": "z"},
    "d": {"n": "unknown"},
    "e": {"n": 100},
    "g": {"n": 9.5, "b": True},
    "h": {"n": -3, "b": False},
}
EQUAL = {
    "number": ({"n": 9}, "a"),
    "number as another type": ({"n": 9.0}, "a"),
    "text": ({"s": "y"}, "b"),
    "two fields": ({"n": 9, "s": "x"}, "a"),
    "two fields of which one differs": ({"n": 9, "s": "y"}, ""),
    "object": ({"u": {"role": "admin", "lvl": 1}}, "a"),
    "object in another order": ({"u": {"lvl": 1, "role": "admin"}}, "a"),
    "part of an object": ({"u": {"role": "admin"}}, ""),
    "list": ({"tags": ["a", "b"]}, "a"),
    "list in another order": ({"tags": ["b", "a"]}, ""),
    "boolean": ({"b": True}, "g"),
    "a number is no boolean": ({"b": 1}, ""),
    "None is not missing": ({"z": None}, "a"),
    "nothing": ({}, "abcdegh"),
}
ORDERED = {
    "at least": ({"n": {"$gte": 10}}, "be"),
    "more": ({"n": {"$gt": 9}}, "beg"),
    "less": ({"n": {"$lt": 9.5}}, "ah"),
    "at most": ({"n": {"$lte": 9.5}}, "agh"),
    "between": ({"n": {"$gte": 9, "$lt": 10}}, "ag"),
    "equal": ({"n": {"$eq": 9.0}}, "a"),
    "other": ({"n": {"$ne": 9}}, "bcdegh"),
    "text": ({"s": {"$gte": "y"}}, "bc"),
}
HOSTILE: dict[str, dict[str, Any]] = {
    "quote": {"x') OR '1'='1": 1},
    "union": {"n\"') UNION SELECT value FROM store --": 9},
    "path": {"$.n": 9},
    "value": {"n": "9' OR '1'='1"},
}


class Filtering(Setting):
    """Lists, pages and filters."""

    @pytest.fixture
    def filled(self, store: Called) -> Called:
        """Return a store that holds `VALUES`, and one item beside them."""
        store.batch([PutOp(("f",), key, value) for key, value in VALUES.items()])
        store.put(("other",), "o", {"n": 9})
        return store

    @pytest.mark.parametrize(("wanted", "found"), EQUAL.values(), ids=EQUAL)
    def test_a_filter_finds_what_is_equal(self, filled: Called, wanted: dict[str, Any], found: str) -> None:
        assert sorted(keys(filled.search(("f",), filter=wanted))) == list(found)

    @needs("operators")
    @pytest.mark.parametrize(("wanted", "found"), ORDERED.values(), ids=ORDERED)
    def test_numbers_are_compared_as_numbers(self, filled: Called, wanted: dict[str, Any], found: str) -> None:
        assert sorted(keys(filled.search(("f",), filter=wanted))) == list(found)

    @needs("operators")
    @pytest.mark.parametrize("operator", ["$near", "$regex"])
    def test_an_operator_that_nobody_knows_is_refused(self, filled: Called, operator: str) -> None:
        assert not attempt(lambda: filled.search(("f",), filter={"n": {operator: 9}}))[0]

    @pytest.mark.parametrize("wanted", HOSTILE.values(), ids=HOSTILE)
    def test_a_filter_is_never_read_as_part_of_a_statement(self, filled: Called, wanted: dict[str, Any]) -> None:
        _, found = attempt(lambda: filled.search(("f",), filter=wanted))
        assert not found
        assert len(filled.search(())) == len(VALUES) + 1

    def test_without_a_query_the_newest_update_comes_first(self, store: Called, wait: Wait) -> None:
        for key in ("a", "b", "c", "a"):
            store.put(("f",), key, {"n": 1})
            wait(self.ttl / 10)
        assert keys(store.search(("f",))) == ["a", "c", "b"]
        assert [item.score for item in store.search(("f",))] == [None] * 3

    def test_pages_have_no_gaps(self, store: Called) -> None:
        store.batch([PutOp(("f", str(n % 3)), f"k{n}", {"odd": n % 2}) for n in range(45)])
        whole = keys(store.search(("f",), limit=100))
        assert len(set(whole)) == 45
        assert [key for at in range(0, 45, 7) for key in keys(store.search(("f",), limit=7, offset=at))] == whole

    def test_a_filter_narrows_before_the_limit_counts(self, store: Called) -> None:
        store.batch([PutOp(("f",), f"k{n}", {"n": n}) for n in range(50)])
        assert keys(store.search(("f",), filter={"n": 3}, limit=1)) == ["k3"]
        pages = [keys(store.search(("f",), filter={"n": 3}, limit=1, offset=at)) for at in range(2)]
        assert pages == [["k3"], []]
