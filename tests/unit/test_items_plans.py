"""The hot statements about items keep their index, and never sort or scan more than their range."""

from __future__ import annotations

import pytest

from perdure import Memory
from perdure.engine import statements

SPAN = {"tenant": "t", "low": "\x1fa\x1f", "high": "\x1fa ", "now": 1}
KEY = {"tenant": "t", "namespace": "\x1fa\x1f", "key": "k"}
POLICIES = "SEARCH p USING PRIMARY KEY (tenant=? AND namespace<?)"
RANGE = "(tenant=? AND namespace>? AND namespace<?)"


@pytest.fixture
def plan(file_url):
    with Memory.open(file_url) as memory:

        def explain(name, **params):
            rows = memory.engine._connection.execute(f"EXPLAIN QUERY PLAN {statements.load('sqlite')[name]}", params)
            return [row[3] for row in rows]

        yield explain


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("item_get", {**KEY, "now": 1}),
        ("item_read", {**KEY, "now": 1}),
        ("item_keep", {**KEY, "now": 1}),
        ("item_delete", {**KEY, "least": 1, "most": 2, "alive": 0}),
        ("item_refresh", {**KEY, "now": 1, "seen": 2}),
    ],
)
def test_one_item_is_found_by_its_key(plan, name, params):
    found = plan(name, **params)
    assert found[0] == "SEARCH items USING INDEX items_by_key (tenant=? AND namespace=? AND key=?)"
    assert set(found[1:]) <= {"CORRELATED SCALAR SUBQUERY 1", "SCALAR SUBQUERY 1", POLICIES}


def test_what_a_policy_says_is_found_by_its_key_without_a_sort(plan):
    put = dict.fromkeys(("subject", "expires_at", "ttl", "fallback", "embedded", "fields", "about"))
    put |= dict.fromkeys(("hidden", "projection", "value", "now", "start", "said"), 0) | KEY
    found = plan("item_put", **put)
    assert [step for step in found if "p " in step or "SORT" in step or "ORDER" in step] == [POLICIES]


def test_a_prefix_is_one_range_of_a_covering_index(plan):
    assert plan("items_count", **SPAN) == [f"SEARCH items USING COVERING INDEX items_by_update {RANGE}"]
    assert plan("items_newest", **SPAN, limit=10, offset=0, shown=0) == [
        f"SEARCH items USING COVERING INDEX items_by_update {RANGE}",
        "USE TEMP B-TREE FOR ORDER BY",
    ]


def test_namespaces_are_found_by_steps_of_the_index(plan):
    steps = [step for step in plan("namespaces_page", **SPAN, limit=10) if "items" in step]
    assert len(steps) == 2
    assert all("COVERING INDEX" in step and "namespace>?" in step for step in steps)


@pytest.mark.parametrize("name", ["items_of", "items_candidates"])
def test_items_of_a_page_are_found_by_their_numbers(plan, name):
    assert "SEARCH i USING INTEGER PRIMARY KEY (rowid=?)" in plan(name, tenant="t", ids="[1, 2]", needle="7")


def test_a_sweep_looks_at_what_has_expired_only(plan):
    found = plan("items_sweep", tenant="t", now=1, limit=10)
    assert "SEARCH items USING COVERING INDEX items_by_expiry (tenant=? AND expires_at<?)" in found
