"""How long items stay, by the policies of their namespaces."""

from __future__ import annotations

import datetime as dt

import pytest
from langgraph.store.base import GetOp, PutOp
from tests import clocks

from perdure import Memory, Policy, errors


@pytest.fixture
def clock():
    return clocks.Clock()


@pytest.fixture
def timed(memory, clock):
    return clocks.clocked(memory, clock)


@pytest.fixture
def store(timed, styled):
    return styled(timed.store)


def minutes(store, clock, namespace=("a", "b"), **options):
    """Return how many minutes an item has that is put now."""
    store.put(namespace, "k", {}, **options)
    end = store.get(namespace, "k", refresh_ttl=False).expires_at
    return None if end is None else (end - clock.moment) / dt.timedelta(minutes=1)


def test_policies_are_said_listed_changed_and_taken_back(store):
    assert store.policies() == []
    store.set_policy(("b",), ttl=30, history=True)
    store.set_policy((), refresh_on_read=False)
    store.set_policy(("a", "b"), ttl=0)
    assert store.policies() == [
        Policy((), refresh_on_read=False),
        Policy(("a", "b"), ttl=0),
        Policy(("b",), ttl=30, history=True),
    ]
    store.set_policy(("b",), ttl=None)
    store.set_policy(("a", "b"), ttl=None)
    store.set_policy(())
    assert store.policies() == [Policy((), refresh_on_read=False), Policy(("b",), history=True)]


def test_an_item_whose_put_says_nothing_stays_as_long_as_its_policy_says(store, clock):
    assert minutes(store, clock) is None
    store.set_policy(("a",), ttl=10)
    assert minutes(store, clock) == 10
    store.set_policy(("a",), ttl=0.5)
    assert minutes(store, clock) == 0.5
    clock.forward(0.5)
    assert store.get(("a", "b"), "k") is None


def test_the_longest_prefix_that_says_something_wins_field_by_field(store, clock):
    store.set_policy((), ttl=1, refresh_on_read=False)
    store.set_policy(("a",), ttl=2)
    store.set_policy(("a", "b"), history=True)
    store.set_policy(("a", "b", "c"), ttl=0)
    spaces = [("x",), ("a",), ("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")]
    assert [minutes(store, clock, space) for space in spaces] == [1, 2, 2, None, None]


def test_a_policy_may_be_said_again_as_it_was_listed(store):
    store.set_policy(("a",), ttl=0, history=True)
    (listed,) = store.policies()
    store.set_policy(("b",), ttl=listed.ttl, refresh_on_read=listed.refresh_on_read, history=listed.history)
    assert [policy.ttl for policy in store.policies()] == [0, 0]


def test_a_prefix_ends_where_a_label_ends(store, clock):
    store.set_policy(("a",), ttl=2)
    store.set_policy(("%",), ttl=3)
    assert [minutes(store, clock, space) for space in [("ab",), ("b", "a"), ("a.b",), ("é",), ("a",)]] == [
        None,
        None,
        None,
        None,
        2,
    ]


def test_what_a_put_says_comes_first_then_the_policy_then_the_stores_own_setting(timed, store, clock):
    timed.store.ttl_config = {"default_ttl": 7}
    assert minutes(store, clock, ("x",)) == 7
    store.set_policy(("a",), ttl=10)
    assert minutes(store, clock) == 10
    assert minutes(store, clock, ttl=3) == 3
    assert minutes(store, clock, ttl=None) is None
    assert minutes(store, clock, expires_at=clock.moment + dt.timedelta(minutes=5)) == 5
    store.batch([PutOp(("a", "b"), "k", {})])
    assert store.get(("a", "b"), "k").expires_at is None, "LangGraph's operation says None, which is for ever"
    store.set_policy(("a",), ttl=0)
    assert minutes(store, clock) is None


def test_conditional_puts_and_increments_obey_the_policy_as_well(store, clock):
    store.set_policy((), ttl=10)
    assert minutes(store, clock, if_absent=True) == 10
    clock.forward(1)
    assert minutes(store, clock, if_version=1) == 10
    store.increment(("c",), "n")
    store.update(("c",), "u", lambda value: value, default={})
    for key in "nu":
        assert store.get(("c",), key, refresh_ttl=False).expires_at == clock.moment + dt.timedelta(minutes=10)


@pytest.mark.parametrize("read", ["get", "search", "query"])
def test_a_policy_says_whether_a_read_begins_the_time_anew(timed, store, clock, read):
    call = {
        "get": lambda **o: store.get(("a", "b"), "k", **o),
        "search": lambda **o: store.search(("a",), **o),
        "query": lambda **o: store.search(("a",), query="words", **o),
    }[read]

    def moved(**options):
        store.put(("a", "b"), "k", {"text": "words"})
        before = store.get(("a", "b"), "k", refresh_ttl=False).expires_at
        clock.forward(1)
        assert call(**options)
        return store.get(("a", "b"), "k", refresh_ttl=False).expires_at > before

    store.set_policy((), ttl=10)
    assert moved()
    timed.store.ttl_config = {"refresh_on_read": False}
    assert not moved()
    store.set_policy(("a",), refresh_on_read=True)
    assert moved()
    assert not moved(refresh_ttl=False)
    store.set_policy(("a",), refresh_on_read=False)
    timed.store.ttl_config = None
    assert not moved()
    assert moved(refresh_ttl=True)


def test_a_batch_asks_for_a_refresh_as_langgraph_says_it(store, clock):
    store.set_policy((), ttl=10, refresh_on_read=False)
    store.put(("a",), "k", {})
    clock.forward(1)
    store.batch([GetOp(("a",), "k")])
    assert store.get(("a",), "k", refresh_ttl=False).expires_at == clock.moment + dt.timedelta(minutes=10)


def test_policies_are_a_tenants_own(timed, styled, clock):
    one, two = (styled(timed.scope(tenant=name).store) for name in ("one", "two"))
    one.set_policy((), ttl=10, history=True)
    assert two.policies() == []
    assert [minutes(one, clock), minutes(two, clock)] == [10, None]


def test_policies_hold_for_every_memory_of_the_database_at_once(shared_url, styled, clock):
    with Memory.open(shared_url) as first, Memory.open(shared_url) as second:
        assert minutes(styled(clocks.clocked(second, clock).store), clock) is None
        styled(first.store).set_policy((), ttl=3)
        assert minutes(styled(clocks.clocked(second, clock).store), clock) == 3


@pytest.mark.parametrize(
    ("prefix", "given", "error"),
    [
        ("a", {}, errors.InvalidNamespaceError),
        (("a", ""), {}, errors.InvalidNamespaceError),
        (("a",), {"ttl": -1}, errors.InvalidInputError),
        (("a",), {"ttl": True}, errors.InvalidInputError),
        (("a",), {"ttl": "1"}, errors.InvalidInputError),
        (("a",), {"ttl": float("inf")}, errors.InvalidInputError),
        (("a",), {"ttl": 10**400}, errors.InvalidInputError),
        (("a",), {"history": 1}, errors.InvalidInputError),
        (("a",), {"refresh_on_read": "no"}, errors.InvalidInputError),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(store, prefix, given, error):
    with pytest.raises(error):
        store.set_policy(prefix, **given)
    assert store.policies() == []


def test_there_is_a_limit_to_the_number_of_policies(store, monkeypatch):
    monkeypatch.setattr("perdure.core.policies.MOST", 2)
    store.set_policy(("a",), ttl=1)
    store.set_policy(("b",), ttl=1)
    with pytest.raises(errors.ConflictError, match="limit"):
        store.set_policy(("c",), ttl=1)
    store.set_policy(("b",), ttl=2)
