"""What a store keeps and gives back, alone and in batches, and for how long."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import enum
import inspect
import threading

import pytest
from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, MatchCondition, PutOp, SearchItem, SearchOp
from tests import inside

from perdure import Memory, errors

MINUTE = 60_000_000
METHODS = ["batch", "get", "search", "put", "delete", "list_namespaces"]


class Clock:
    """A fake clock, in microseconds."""

    def __init__(self):
        self.now = 1_800_000_000_000_000

    def __call__(self):
        return self.now

    def forward(self, minutes):
        self.now += round(minutes * MINUTE)


@pytest.fixture
def store(memory, styled):
    return styled(memory.store)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def clocked(memory, clock):
    """The memory with a clock that only goes when it is put forward."""
    return Memory(dataclasses.replace(memory._calls, clock=clock))


@pytest.fixture
def timed(clocked, styled):
    return styled(clocked.store)


def keys(store, *prefix, **options):
    return [item.key for item in store.search(tuple(prefix), **options)]


# Items


def test_an_item_is_created_read_updated_found_and_deleted(store):
    space = ("users", "u1")
    store.put(space, "style", {"tone": "brief"})
    first = store.get(space, "style")
    assert isinstance(first, Item)
    assert (first.namespace, first.key, first.value) == (space, "style", {"tone": "brief"})
    store.put(space, "style", {"tone": "formal"})
    (found,) = store.search(("users",), filter={"tone": "formal"})
    assert isinstance(found, SearchItem)
    assert found.score is None
    assert found.created_at == first.created_at
    store.delete(space, "style")
    assert store.get(space, "style") is None
    assert store.get(space, "missing") is None
    store.delete(space, "missing")


def test_an_update_keeps_created_at_and_moves_updated_at(timed, clock):
    timed.put(("f",), "k", {"n": 1})
    clock.forward(1)
    timed.put(("f",), "k", {"n": 2})
    item = timed.get(("f",), "k")
    assert item.updated_at - item.created_at == dt.timedelta(minutes=1)
    assert item.created_at.tzinfo is dt.UTC
    assert item.updated_at.tzinfo is dt.UTC


def test_updated_at_is_later_even_if_the_clock_is_set_back(timed, clock):
    timed.put(("f",), "k", {"n": 1})
    clock.forward(-60)
    timed.put(("f",), "k", {"n": 2})
    item = timed.get(("f",), "k")
    assert item.updated_at > item.created_at


def test_stored_values_are_nobody_elses(store):
    given = {"l": [1]}
    store.put(("f",), "k", given)
    given["l"].append(2)
    got = store.get(("f",), "k")
    got.value["l"].append(3)
    (found,) = store.search(("f",))
    found.value["l"].append(4)
    assert (store.get(("f",), "k")).value == {"l": [1]}


def test_a_value_in_a_batch_is_taken_when_it_is_given(store):
    given = {"l": [1]}
    results = store.batch([PutOp(("f",), "k", given), GetOp(("f",), "k")])
    given["l"].append(2)
    results[1].value["l"].append(3)
    assert (store.get(("f",), "k")).value == {"l": [1]}


def test_values_come_back_equal_and_of_the_same_type(store):
    value = {
        "t": (1, 2), "s": {1, 2}, "big": 2**70, "inf": float("inf"), "nul": "a\x00b", "lone": "a\ud83d", "none": None,
        "when": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "raw": b"\x00\xff", "$odd": {"$eq": 1}, "deep": [[[{}]]], "": 1,
        "pairs": {1: "one", None: "none"},
    }  # fmt: skip
    store.put(("f",), "k", value)
    got = (store.get(("f",), "k")).value
    assert got == value
    assert {name: type(part) for name, part in got.items()} == {name: type(part) for name, part in value.items()}


def test_any_mapping_is_kept_as_a_dict(store):
    class Settings(dict):
        pass

    store.put(("f",), "k", Settings(a=1))
    assert type((store.get(("f",), "k")).value) is dict


@pytest.mark.parametrize(
    "value", [[1], "text", 7, {1: "one"}, {"a": object()}, {"a": [1, {"b": lambda: 0}]}, {"n": enum}]
)
def test_a_value_that_can_not_come_back_is_refused_with_its_path(store, value):
    with pytest.raises(errors.UnsupportedValueError, match=r"\$"):
        store.put(("f",), "k", value)
    assert store.count() == 0


def test_the_path_of_a_refused_value_is_exact(store):
    with pytest.raises(errors.UnsupportedValueError) as caught:
        store.put(("f",), "k", {"a": [1, {"b": object()}]})
    assert caught.value.path == "$.a[1].b"


def test_putting_none_deletes(store):
    store.put(("f",), "k", {"a": 1})
    store.put(("f",), "k", None)
    assert store.get(("f",), "k") is None
    store.put(("f",), "k", {"a": 1})
    store.batch([PutOp(("f",), "k", None)])
    assert store.get(("f",), "k") is None


def test_items_are_counted_below_a_prefix(store):
    for space in [("a",), ("a", "b"), ("ab",)]:
        store.put(space, "k", {})
    assert [store.count(), store.count(("a",)), store.count(("none",))] == [3, 2, 0]


# Order


def test_the_newest_update_comes_first(timed, clock):
    for key in "abc":
        clock.forward(1)
        timed.put(("f",), key, {})
    clock.forward(1)
    timed.put(("f",), "a", {})
    assert keys(timed, "f") == ["a", "c", "b"]


def test_pages_of_one_moment_have_no_gaps(timed):
    timed.batch([PutOp(("f", str(number % 3)), f"k{number}", {"odd": number % 2}) for number in range(45)])
    everything = keys(timed, "f", limit=100)
    assert len(set(everything)) == 45
    assert [key for at in range(0, 45, 7) for key in keys(timed, "f", limit=7, offset=at)] == everything
    odd = keys(timed, "f", filter={"odd": 1}, limit=100)
    assert len(odd) == 22
    assert [key for at in range(0, 22, 5) for key in keys(timed, filter={"odd": 1}, limit=5, offset=at)] == odd


# Batches


def test_a_batch_runs_in_order_and_answers_in_order(store):
    results = store.batch(
        [
            GetOp(("f",), "k"),
            PutOp(("f",), "k", {"n": 1}),
            GetOp(("f",), "k"),
            SearchOp(("f",)),
            PutOp(("f",), "k", {"n": 2}),
            ListNamespacesOp(),
            PutOp(("f",), "k", None),
            GetOp(("f",), "k"),
        ]
    )
    assert results[0] is None
    assert results[2].value == {"n": 1}
    assert [item.value for item in results[3]] == [{"n": 1}]
    assert results[5] == [("f",)]
    assert [results[at] for at in (1, 4, 6, 7)] == [None] * 4
    assert store.batch([]) == []
    assert store.batch(GetOp(("f",), key) for key in "ab") == [None, None]


@pytest.mark.parametrize(
    "bad",
    [
        PutOp(("f",), "bad", {"a": object()}),
        PutOp(("f", ""), "bad", {}),
        PutOp(("f",), "", {}),
        PutOp(("f",), "bad", {}, ttl=-1),
        SearchOp(("f",), limit=-1),
        SearchOp(("f",), {"n": {"$near": 1}}),
        ListNamespacesOp((MatchCondition("infix", ("a",)),)),
        "put",
    ],
    ids=["value", "label", "key", "ttl", "limit", "operator", "match", "kind"],
)
def test_one_bad_operation_keeps_the_whole_batch_out(store, bad):
    with pytest.raises(errors.PerdureError):
        store.batch([PutOp(("f",), "good", {"a": 1}), bad, PutOp(("f",), "good2", {})])
    assert store.count() == 0


def test_a_batch_that_fails_half_way_in_the_database_leaves_nothing(memory, store):
    inside.refuse_writes(memory, "items", "INSERT", "NEW.key = 'b'")
    with pytest.raises(errors.DatabaseError):
        store.batch([PutOp(("f",), "a", {}), PutOp(("f",), "b", {})])
    assert store.count() == 0
    store.put(("f",), "c", {})
    assert keys(store) == ["c"]


# Time to live


def test_an_expired_item_is_gone_for_every_read_unswept(timed, clock):
    timed.put(("f",), "k", {"n": 1}, ttl=1)
    timed.put(("f",), "kept", {"n": 1})
    timed.put(("g",), "k", {"n": 1}, ttl=1)
    clock.forward(1)
    for _ in range(2):
        assert timed.get(("f",), "k") is None
        assert keys(timed) == ["kept"]
        assert keys(timed, filter={"n": 1}) == ["kept"]
        assert timed.list_namespaces() == [("f",)]
        assert timed.count() == 1
        assert (timed.batch([GetOp(("f",), "k"), SearchOp(("g",)), ListNamespacesOp()])) == [None, [], [("f",)]]


@pytest.mark.parametrize("read", ["get", "search", "batch"])
def test_a_read_begins_the_time_to_live_anew(timed, clock, read):
    timed.put(("f",), "k", {"n": 1}, ttl=1)
    calls = {
        "get": lambda: timed.get(("f",), "k"),
        "search": lambda: timed.search(("f",)),
        "batch": lambda: timed.batch([PutOp(("g",), "k", {}), GetOp(("f",), "k")]),
    }
    for _ in range(3):
        clock.forward(0.9)
        calls[read]()
    clock.forward(0.999)
    assert keys(timed, "f", refresh_ttl=False) == ["k"]
    clock.forward(0.001)
    assert timed.get(("f",), "k") is None


def test_a_read_without_refresh_leaves_the_end_where_it_is(timed, clock):
    timed.put(("f",), "k", {}, ttl=1)
    clock.forward(0.9)
    assert timed.get(("f",), "k", refresh_ttl=False) is not None
    assert keys(timed, refresh_ttl=False) == ["k"]
    clock.forward(0.1)
    assert timed.get(("f",), "k") is None


def test_only_what_a_search_returns_is_refreshed(timed, clock):
    timed.put(("f",), "a", {"n": 1}, ttl=1)
    timed.put(("f",), "b", {"n": 2}, ttl=1)
    clock.forward(0.5)
    assert keys(timed, filter={"n": 1}) == ["a"]
    clock.forward(0.5)
    assert keys(timed) == ["a"]


def test_a_put_over_an_expired_item_is_a_new_item(timed, clock):
    timed.put(("f",), "k", {}, ttl=1)
    clock.forward(2)
    timed.put(("f",), "k", {})
    item = timed.get(("f",), "k")
    assert item.created_at == item.updated_at
    clock.forward(1_000_000)
    assert timed.get(("f",), "k") is not None


def test_a_put_without_ttl_takes_the_end_away(timed, clock):
    timed.put(("f",), "k", {}, ttl=1)
    timed.put(("f",), "k", {})
    clock.forward(2)
    assert timed.get(("f",), "k") is not None


def test_ttl_config_gives_the_defaults(clocked, timed, clock):
    clocked.store.ttl_config = {"default_ttl": 1, "refresh_on_read": False}
    timed.put(("f",), "a", {})
    timed.put(("f",), "b", {}, ttl=None)
    clock.forward(0.9)
    assert len(keys(timed)) == 2
    clock.forward(0.1)
    assert keys(timed) == ["b"]


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), "1", True, 2**40])
def test_a_ttl_that_is_no_time_is_refused(store, ttl):
    with pytest.raises(errors.InvalidInputError, match="ttl"):
        store.put(("f",), "k", {}, ttl=ttl)
    assert store.count() == 0


def test_a_sweep_removes_what_has_expired_and_nothing_else(memory, clocked, timed, styled, clock):
    views = [styled(clocked.scope(tenant=name).store) for name in ("one", "two")]
    for view in [timed, *views]:
        view.batch([PutOp(("f",), f"k{number}", {}, ttl=1) for number in range(600)])
        view.put(("f",), "kept", {})
        view.put(("f",), "later", {}, ttl=10)
    assert timed.sweep() == 0
    clock.forward(1)
    assert views[0].sweep() == 600
    rows = "SELECT tenant, count(*) FROM items GROUP BY tenant ORDER BY tenant"
    assert inside.rows(memory, rows) == [("default", 602), ("one", 2), ("two", 602)]
    assert timed.sweep() == 1200
    assert inside.rows(memory, rows) == [("default", 2), ("one", 2), ("two", 2)]


def test_reading_what_has_no_ttl_writes_nothing(memory, store, caplog):
    store.put(("f",), "k", {})
    inside.refuse_writes(memory, "items", "UPDATE")
    store.get(("f",), "k")
    store.search(("f",))
    assert caplog.text == ""


def test_a_read_succeeds_though_its_refresh_can_not_be_written(memory, timed, clock, caplog):
    timed.put(("f",), "k", {"secret": "content"}, ttl=1)
    clock.forward(0.5)
    inside.refuse_writes(memory, "items", "UPDATE")
    assert (timed.get(("f",), "k")).value == {"secret": "content"}
    assert "not refreshed" in caplog.text
    assert "content" not in caplog.text


# Lives and lanes


def test_items_outlive_the_process_that_put_them(tmp_path, styled):
    url = f"sqlite:///{tmp_path}/agent.db"
    with Memory.open(url) as memory:
        styled(memory.store).put(("f",), "k", {"n": 1})
    with Memory.open(url) as memory:
        assert (styled(memory.store).get(("f",), "k")).value == {"n": 1}
    with pytest.raises(errors.ClosedError):
        styled(memory.store).put(("f",), "k", {})


def test_tenants_do_not_see_each_other(memory, styled):
    one, two = (styled(memory.scope(tenant=name).store) for name in ("one", "two"))
    one.put(("f",), "k", {"of": "one"})
    assert two.get(("f",), "k") is None
    assert two.search(()) == []
    assert two.list_namespaces() == []
    two.put(("f",), "k", {"of": "two"})
    two.delete(("f",), "k")
    assert (one.get(("f",), "k")).value == {"of": "one"}


def test_a_call_that_names_no_tenant_is_refused_where_one_is_required(url, styled):
    with Memory.open(url, tenants="required") as memory:
        with pytest.raises(errors.InvalidIdError, match="no tenant"):
            styled(memory.store).search(())
        styled(memory.scope(tenant="t").store).put(("f",), "k", {})
        assert styled(memory.store).sweep() == 0


def test_a_store_works_in_a_second_event_loop_after_the_first_is_closed(url):
    async def visit(store, key):
        await store.aput(("f",), key, {})
        return [item.key for item in await store.asearch(("f",))]

    memory = Memory.open(url)
    try:
        assert asyncio.run(visit(memory.store, "a")) == ["a"]
        assert asyncio.run(visit(memory.store, "b")) == ["b", "a"]
        assert [item.key for item in memory.store.search(("f",))] == ["b", "a"]
    finally:
        memory.close()


def test_threads_share_a_store(url):
    with Memory.open(url) as memory:

        def work(number):
            for turn in range(20):
                memory.store.put(("f", str(number)), str(turn), {"turn": turn})
                assert memory.store.get(("f", str(number)), str(turn)).value == {"turn": turn}

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.store.count() == 80


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_langgraphs_signature_in_both_styles(name):
    for spelled in (name, f"a{name}"):
        theirs, ours = (
            inspect.signature(getattr(of, spelled)) for of in (BaseStore, Memory.open("sqlite://").store.__class__)
        )
        more = {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
        mine = [p for p in ours.parameters.values() if p.name in theirs.parameters or p.kind not in more]
        assert [(p.name, p.kind, p.default) for p in mine] == [
            (p.name, p.kind, p.default) for p in theirs.parameters.values()
        ]


def test_damaged_bytes_are_an_error_that_names_the_item(memory, store):
    store.put(("f",), "k", {"secret": "content"})
    (found,) = inside.rows(memory, "SELECT value FROM items")
    inside.rows(memory, "UPDATE items SET value = ?", found[0] + b"\0")
    for attempt in (lambda: store.get(("f",), "k"), lambda: store.search(("f",))):
        with pytest.raises(errors.CorruptValueError, match="item 'k'"):
            attempt()


def test_tasks_of_one_loop_and_blocking_calls_in_it_share_a_store(memory):
    async def work():
        await asyncio.gather(*(memory.store.aput(("f",), f"k{number}", {"n": number}) for number in range(100)))
        memory.store.put(("f",), "blocking", {})
        found = await asyncio.gather(*(memory.store.aget(("f",), f"k{number}") for number in range(100)))
        return [item.value["n"] for item in found]

    assert asyncio.run(work()) == list(range(100))
    assert memory.store.count() == 101
