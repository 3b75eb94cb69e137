"""What items were: kept where a policy says so, read by version and by moment, and gone when its time is over."""

from __future__ import annotations

import datetime as dt

import pytest
from langgraph.store.base import PutOp
from tests import clocks, inside

from perdure import About, Version, errors

SPACE = ("f", "g")


@pytest.fixture
def clock():
    return clocks.Clock()


@pytest.fixture
def timed(memory, clock):
    return clocks.clocked(memory, clock)


@pytest.fixture
def store(timed, styled):
    made = styled(timed.store)
    made.set_policy(("f",), history=True)
    return made


def values(found):
    return [one.value for one in found]


def kept(memory):
    return inside.value(memory, "SELECT count(*) FROM item_versions")


def test_a_history_has_each_version_with_its_time_the_newest_first(store, clock):
    start = clock.moment
    store.put(SPACE, "k", {"n": 1}, kind="semantic")
    clock.forward(1)
    store.put(SPACE, "k", {"n": 2})
    clock.forward(1)
    store.update(SPACE, "k", lambda _: {"n": 3})
    one, two = start + dt.timedelta(minutes=1), start + dt.timedelta(minutes=2)
    assert store.history(SPACE, "k") == [
        Version({"n": 3}, 3, About(), two),
        Version({"n": 2}, 2, About(), one, two),
        Version({"n": 1}, 1, About(kind="semantic"), start, one),
    ]
    assert values(store.history(SPACE, "k", limit=2)) == [{"n": 3}, {"n": 2}]
    assert store.history(SPACE, "k", limit=0) == []
    assert store.history(SPACE, "other") == []


@pytest.mark.parametrize("change", ["put", "condition", "update", "increment", "batch"])
def test_every_way_to_change_an_item_keeps_what_it_was(store, change):
    store.put(SPACE, "k", {"value": 1})
    {
        "put": lambda: store.put(SPACE, "k", {"value": 2}),
        "condition": lambda: store.put(SPACE, "k", {"value": 2}, if_version=1),
        "update": lambda: store.update(SPACE, "k", lambda _: {"value": 2}),
        "increment": lambda: store.increment(SPACE, "k"),
        "batch": lambda: store.batch([PutOp(SPACE, "k", {"value": 2}), PutOp(SPACE, "l", {})]),
    }[change]()
    assert values(store.history(SPACE, "k")) == [{"value": 2}, {"value": 1}]


def test_a_deleted_item_has_its_versions_still_and_purged_it_has_none(memory, store, clock):
    store.put(SPACE, "k", {"n": 1})
    store.put(SPACE, "k", {"n": 2})
    clock.forward(1)
    store.delete(SPACE, "k")
    (last, first) = store.history(SPACE, "k")
    assert (last.value, last.replaced_at, first.value) == ({"n": 2}, clock.moment, {"n": 1})
    clock.forward(1)
    store.put(SPACE, "k", {"n": 3})
    assert [(one.value, one.version) for one in store.history(SPACE, "k")] == [
        ({"n": 3}, 1),
        ({"n": 2}, 2),
        ({"n": 1}, 1),
    ]
    store.put(SPACE, "other", {"n": 1})
    store.put(SPACE, "other", {"n": 2})
    store.delete(SPACE, "k", purge=True)
    assert store.history(SPACE, "k") == []
    assert kept(memory) == 1


def test_a_refused_delete_purges_nothing(store):
    store.put(SPACE, "k", {"n": 1})
    store.put(SPACE, "k", {"n": 2})
    for purge in (True, False):
        with pytest.raises(errors.VersionConflictError):
            store.delete(SPACE, "k", if_version=1, purge=purge)
    assert values(store.history(SPACE, "k")) == [{"n": 2}, {"n": 1}]


def test_without_a_policy_nothing_is_kept(memory, store):
    store.put(("ff",), "k", {"n": 1})
    store.put(("ff",), "k", {"n": 2})
    store.delete(("ff",), "k")
    assert store.history(("ff",), "k") == []
    store.put(SPACE, "k", {"n": 1})
    store.set_policy(("f",), history=False)
    store.put(SPACE, "k", {"n": 2})
    assert values(store.history(SPACE, "k")) == [{"n": 2}]
    assert kept(memory) == 0


def test_a_longer_prefix_may_keep_no_history(store):
    store.set_policy(SPACE, history=False)
    for space in (SPACE, ("f",)):
        store.put(space, "k", {"n": 1})
        store.put(space, "k", {"n": 2})
    assert [len(store.history(space, "k")) for space in (SPACE, ("f",))] == [1, 2]


# As of a moment


def test_an_item_is_read_as_it_was_at_a_moment(store, clock):
    moments = []
    for number in range(3):
        clock.forward(1)
        store.put(SPACE, "k", {"n": number})
        moments.append(clock.moment)
    clock.forward(1)
    store.delete(SPACE, "k")
    moments.append(clock.moment)
    assert [store.get(SPACE, "k", as_of=at) and store.get(SPACE, "k", as_of=at).value for at in moments] == [
        {"n": 0},
        {"n": 1},
        {"n": 2},
        None,
    ]
    second = store.get(SPACE, "k", as_of=moments[1] + dt.timedelta(seconds=59))
    assert (second.version, second.created_at, second.updated_at) == (2, moments[0], moments[1])
    assert store.get(SPACE, "k", as_of=moments[0] - dt.timedelta(microseconds=1)) is None
    assert store.get(SPACE, "missing", as_of=moments[0]) is None


def test_a_search_lists_what_items_were_at_a_moment(store, clock):
    for number in range(30):
        clock.forward(1)
        store.put((*SPACE, str(number % 3)), f"k{number % 10}{number % 3}", {"n": number, "odd": number % 2})
    then = clock.moment
    expected = values(store.search(("f",), limit=100))
    odd = values(store.search(SPACE, filter={"odd": 1}, limit=100))
    clock.forward(1)
    for number in range(30):
        store.put((*SPACE, str(number % 3)), f"k{number % 10}{number % 3}", {"n": -1, "odd": 0})
    store.delete((*SPACE, "0"), "k00")
    store.put(SPACE, "new", {"n": -2})
    store.put(("ff",), "other", {"n": -2})
    assert values(store.search(("f",), limit=100, as_of=then)) == expected
    assert values(store.search(SPACE, filter={"odd": 1}, limit=100, as_of=then)) == odd
    paged = [one for at in range(0, 30, 7) for one in values(store.search((), as_of=then, limit=7, offset=at))]
    assert paged == expected
    assert store.search(("f", "g", "2"), as_of=then)[0].namespace == ("f", "g", "2")


def test_a_search_leaves_out_what_was_hidden_then(store, clock):
    store.put(SPACE, "k", {"n": 1}, quarantined=True)
    first = clock.moment
    clock.forward(1)
    store.put(SPACE, "k", {"n": 2})
    assert store.search(("f",), as_of=first) == []
    assert values(store.search(("f",), as_of=first, quarantined=True)) == [{"n": 1}]
    assert values(store.search(("f",), as_of=clock.moment)) == [{"n": 2}]


def test_what_can_not_be_asked_of_the_past_is_refused(store, clock):
    with pytest.raises(errors.InvalidInputError, match="query"):
        store.search(("f",), query="text", as_of=clock.moment)
    for call in (lambda at: store.get(SPACE, "k", as_of=at), lambda at: store.search(("f",), as_of=at)):
        for at in ("2026-01-01", dt.datetime(2026, 1, 1), 7):  # noqa: DTZ001 - refused for that
            with pytest.raises(errors.InvalidInputError, match="as_of"):
                call(at)
    with pytest.raises(errors.InvalidLimitError):
        store.history(SPACE, "k", limit=-1)


# Its end


def test_what_has_expired_leaves_no_version_swept_or_not(memory, store, clock):
    store.put(SPACE, "k", {"n": 1}, ttl=1)
    store.put(SPACE, "k", {"n": 2}, ttl=5)
    store.put(SPACE, "k", {"n": 3}, ttl=5)
    assert len(store.history(SPACE, "k")) == 3
    clock.forward(0.5)
    then = clock.moment
    clock.forward(0.5)
    assert values(store.history(SPACE, "k")) == [{"n": 3}, {"n": 2}]
    assert store.get(SPACE, "k", as_of=then, refresh_ttl=False).value == {"n": 3}
    clock.forward(4)
    assert store.history(SPACE, "k") == []
    assert store.get(SPACE, "k", as_of=then) is None
    assert store.search(("f",), as_of=then) == []
    store.put(SPACE, "k", {"n": 4})
    assert [(one.value, one.version) for one in store.history(SPACE, "k")] == [({"n": 4}, 1)]
    assert kept(memory) == 2
    assert store.sweep() == 2
    assert kept(memory) == 0


def test_a_version_without_an_end_outlives_an_item_that_has_one(store, clock):
    store.put(SPACE, "k", {"n": 1})
    store.put(SPACE, "k", {"n": 2}, ttl=1)
    clock.forward(1)
    assert values(store.history(SPACE, "k")) == [{"n": 1}]
    assert store.sweep() == 1
    assert values(store.history(SPACE, "k")) == [{"n": 1}]


def test_versions_are_kept_though_the_clock_is_set_back(store, clock):
    for number in range(3):
        store.put(SPACE, "k", {"n": number})
        store.put(SPACE, "k", {"n": number + 10})
        store.delete(SPACE, "k")
        clock.forward(-60)
    assert len(store.history(SPACE, "k")) == 6


def test_histories_are_a_tenants_own(timed, styled):
    one, two = (styled(timed.scope(tenant=name).store) for name in ("one", "two"))
    for store in (one, two):
        store.set_policy((), history=True)
        store.put(SPACE, "k", {"n": 1})
    one.put(SPACE, "k", {"n": 2})
    two.delete(SPACE, "k", purge=True)
    assert values(one.history(SPACE, "k")) == [{"n": 2}, {"n": 1}]
    assert two.history(SPACE, "k") == []
