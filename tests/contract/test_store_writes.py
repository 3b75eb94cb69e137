"""Writes on a condition, and changes of what is there."""

from __future__ import annotations

import datetime as dt

import pytest
from langgraph.store.base import GetOp, PutOp
from tests import clocks, inside

from perdure import About, Put, Source, errors

SPACE = ("f", "g")
NAMES = ("kind", "confidence")


@pytest.fixture
def clock():
    return clocks.Clock()


@pytest.fixture
def store(memory, styled, clock):
    return styled(clocks.clocked(memory, clock).store)


def value(store, key="k"):
    found = store.get(SPACE, key)
    return found and found.value


# On a condition


def test_a_put_that_requires_a_version_is_stored_in_the_place_of_that_version_only(store):
    store.put(SPACE, "k", {"n": 1})
    store.put(SPACE, "k", {"n": 2}, if_version=1)
    item = store.get(SPACE, "k")
    assert (item.version, item.value) == (2, {"n": 2})
    with pytest.raises(errors.VersionConflictError, match="at version 1 and is at version 2") as caught:
        store.put(SPACE, "k", {"n": 3}, if_version=1)
    assert (caught.value.code, caught.value.status) == ("version_conflict", 409)
    assert isinstance(caught.value, errors.ConflictError)
    assert type(caught.value.current) is type(item)
    assert (caught.value.current, caught.value.current.version) == (item, 2)
    assert value(store) == {"n": 2}


def test_a_put_that_requires_a_version_of_what_is_not_there_is_refused(store):
    with pytest.raises(errors.VersionConflictError, match="at version 1 and is not there") as caught:
        store.put(SPACE, "k", {}, if_version=1)
    assert caught.value.current is None
    assert store.count() == 0


def test_a_put_that_requires_absence_is_stored_once(store):
    store.put(SPACE, "k", {"n": 1}, if_absent=True)
    with pytest.raises(errors.VersionConflictError, match="absent and is at version 1") as caught:
        store.put(SPACE, "k", {"n": 2}, if_absent=True)
    assert caught.value.current.value == {"n": 1}
    store.delete(SPACE, "k")
    store.put(SPACE, "k", {"n": 3}, if_absent=True)
    assert value(store) == {"n": 3}


def test_an_expired_item_is_absent_for_a_condition(store, clock):
    store.put(SPACE, "k", {"n": 1}, ttl=1)
    clock.forward(1)
    with pytest.raises(errors.VersionConflictError, match="is not there"):
        store.put(SPACE, "k", {"n": 2}, if_version=1)
    with pytest.raises(errors.VersionConflictError, match="is not there"):
        store.delete(SPACE, "k", if_version=1)
    store.put(SPACE, "k", {"n": 3}, if_absent=True)
    item = store.get(SPACE, "k")
    assert (item.value, item.version, item.created_at, item.expires_at) == ({"n": 3}, 1, item.updated_at, None)


def test_conditional_puts_keep_what_other_puts_keep(store, clock):
    store.put(SPACE, "k", {"n": 1}, if_absent=True, kind="semantic", ttl=5)
    first = store.get(SPACE, "k", refresh_ttl=False)
    assert (first.about, first.expires_at - first.updated_at) == (About(kind="semantic"), dt.timedelta(minutes=5))
    clock.forward(1)
    store.put(SPACE, "k", {"n": 2}, if_version=1, confidence=0.5)
    item = store.get(SPACE, "k")
    assert (item.created_at, item.updated_at) == (first.created_at, first.created_at + dt.timedelta(minutes=1))
    assert (item.about, item.expires_at) == (About(confidence=0.5), None)
    assert [found.value for found in store.search(SPACE, filter={"n": 2})] == [{"n": 2}]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"if_version": 0}, "if_version"),
        ({"if_version": True}, "if_version"),
        ({"if_version": "1"}, "if_version"),
        ({"if_version": 2**63}, "if_version"),
        ({"if_absent": 1}, "if_absent"),
        ({"if_absent": True, "if_version": 1}, "exclude each other"),
    ],
)
def test_a_condition_that_is_none_is_refused(store, options, names):
    with pytest.raises(errors.InvalidInputError, match=names):
        store.put(SPACE, "k", {}, **options)
    assert store.count() == 0


def test_one_unmet_condition_undoes_the_whole_batch(store):
    store.put(SPACE, "k", {"n": 1})
    for unmet in (Put(SPACE, "k", {"n": 2}, if_version=7), Put(SPACE, "k", {"n": 2}, if_absent=True)):
        with pytest.raises(errors.VersionConflictError):
            store.batch([PutOp(SPACE, "a", {}), unmet, PutOp(SPACE, "z", {})])
        assert [item.key for item in store.search(SPACE)] == ["k"]
    found = store.batch(
        [Put(SPACE, "k", {"n": 2}, if_version=1), GetOp(SPACE, "k"), Put(SPACE, "a", {}, if_absent=True)]
    )
    assert (found[0], found[1].value, found[2]) == (None, {"n": 2}, None)


@pytest.mark.parametrize("options", [{"if_absent": True}, {"kind": "semantic"}, {"bogus": 1}])
def test_a_put_of_none_takes_nothing_that_means_nothing_for_a_removal(store, options):
    store.put(SPACE, "k", {"n": 1})
    with pytest.raises(errors.InvalidInputError, match=next(iter(options))):
        store.put(SPACE, "k", None, **options)
    assert value(store) == {"n": 1}


def test_puts_of_a_batch_tell_what_they_stored_in_the_order_given(store):
    told = store.batch([Put(SPACE, key, {"key": key}, told=True) for key in "bca"])
    assert [(item.key, item.value["key"]) for item in told] == [("b", "b"), ("c", "c"), ("a", "a")]


def test_a_delete_may_require_a_version(store):
    store.put(SPACE, "k", {"n": 1})
    store.put(SPACE, "k", {"n": 2})
    with pytest.raises(errors.VersionConflictError, match="at version 1 and is at version 2") as caught:
        store.delete(SPACE, "k", if_version=1)
    assert caught.value.current.value == {"n": 2}
    store.delete(SPACE, "k", if_version=2)
    assert store.get(SPACE, "k") is None
    with pytest.raises(errors.VersionConflictError, match="is not there"):
        store.delete(SPACE, "k", if_version=2)
    store.put(SPACE, "k", {"n": 1})
    with pytest.raises(errors.VersionConflictError):
        store.put(SPACE, "k", None, if_version=4)
    assert value(store) == {"n": 1}


# Updates


def test_an_update_puts_what_a_function_makes_of_the_value(store, clock):
    store.put(SPACE, "k", {"l": [1]}, index=["l"], ttl=10, kind="episodic", source={"thread": "t"})
    before = store.get(SPACE, "k", refresh_ttl=False)
    clock.forward(1)
    found = store.update(SPACE, "k", lambda value: {"l": [*value["l"], 2]})
    assert found == store.get(SPACE, "k", refresh_ttl=False)
    assert (found.value, found.version, found.created_at) == ({"l": [1, 2]}, 2, before.created_at)
    assert (found.about, found.expires_at) == (before.about, before.expires_at)


def test_an_update_keeps_what_an_item_is_found_by(memory, store):
    for key, index in (("a", None), ("b", False), ("c", ["text"])):
        store.put(SPACE, key, {"text": "x"}, index=index)
        store.update(SPACE, key, lambda value: value)
    assert inside.rows(memory, "SELECT fields FROM items ORDER BY key") == [(None,), ("[]",), ('["text"]',)]


def test_an_update_may_say_anew_what_is_known(store):
    store.put(SPACE, "k", {"n": 1}, kind="semantic", confidence=0.9, source={"speaker": "Ada"})
    changed = store.update(SPACE, "k", lambda _: {"n": 2}, source={"channel": "model"}, confidence=None)
    assert changed.about == About(kind="semantic", source=Source(channel="model"))
    made = store.update(SPACE, "new", lambda value: value, default={}, kind="episodic")
    assert made.about == About(kind="episodic")
    with pytest.raises(errors.InvalidInputError, match="if_version"):
        store.update(SPACE, "k", lambda _: {"n": 3}, if_version=1)
    assert store.get(SPACE, "k").value == {"n": 2}


def test_an_update_may_give_another_time_to_live(store, clock):
    store.put(SPACE, "k", {}, ttl=10)
    assert store.update(SPACE, "k", lambda value: value, ttl=None).expires_at is None
    assert store.update(SPACE, "k", lambda value: value, ttl=3).expires_at == clock.moment + dt.timedelta(minutes=3)


def test_an_update_of_what_is_not_there_takes_the_default(store):
    with pytest.raises(errors.NotFoundError, match="default"):
        store.update(SPACE, "k", lambda value: value)
    default = {"l": []}
    found = store.update(SPACE, "k", lambda value: value["l"].append(1) or value, default=default)
    assert (found.value, found.version, default) == ({"l": [1]}, 1, {"l": []})
    assert store.update(SPACE, "k", lambda value: value["l"].append(2) or value, default=default).value == {"l": [1, 2]}


def test_what_the_function_raises_is_raised_and_nothing_is_stored(store):
    store.put(SPACE, "k", {"l": []})

    def fail(value):
        value["l"].append(1)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        store.update(SPACE, "k", fail)
    for wrong, error in ((lambda _: None, errors.InvalidInputError), (lambda _: 7, errors.UnsupportedValueError)):
        with pytest.raises(error):
            store.update(SPACE, "k", wrong)
    item = store.get(SPACE, "k")
    assert (item.value, item.version) == ({"l": []}, 1)


def test_an_update_is_made_again_of_what_somebody_else_has_stored_meanwhile(memory, store):
    store.put(SPACE, "k", {"n": 1})
    seen = []

    def slow(value):
        if not seen:
            memory.store.put(SPACE, "k", {"n": 10})
        seen.append(value["n"])
        return {"n": value["n"] + 1}

    assert store.update(SPACE, "k", slow).value == {"n": 11}
    assert seen == [1, 10]


def test_an_update_is_not_made_of_an_item_that_another_has_taken_the_place_of(memory, store, clock):
    store.put(SPACE, "k", {"n": 1})
    seen = []

    def slow(value):
        if not seen:
            clock.forward(1)
            memory.store.delete(SPACE, "k")
            clocks.clocked(memory, clock).store.put(SPACE, "k", {"n": 10})
        seen.append(value["n"])
        return {"n": value["n"] + 1}

    assert store.update(SPACE, "k", slow).value == {"n": 11}
    assert seen == [1, 10]


def test_an_update_that_always_comes_too_late_ends_with_an_error_that_says_so(memory, store, monkeypatch):
    monkeypatch.setattr("perdure.core.changes.ATTEMPTS", 3)
    store.put(SPACE, "k", {"n": 1})
    with pytest.raises(errors.ConflictError, match="3 times") as caught:
        store.update(SPACE, "k", lambda value: memory.store.put(SPACE, "k", {"n": 0}) or value)
    assert type(caught.value) is errors.ConflictError
    assert store.get(SPACE, "k").version == 4


@pytest.mark.anyio
async def test_an_async_update_takes_a_coroutine_function(memory):
    async def change(value):
        return {"n": value["n"] + 1}

    await memory.store.aput(SPACE, "k", {"n": 1})
    assert (await memory.store.aupdate(SPACE, "k", change)).value == {"n": 2}
    assert (await memory.store.aupdate(SPACE, "k", lambda value: {"n": value["n"] + 1})).value == {"n": 3}
    with pytest.raises(errors.InvalidInputError, match="aupdate"):
        memory.store.update(SPACE, "k", change)


# Increments


def test_an_increment_counts_from_nothing_and_returns_the_number(store):
    assert [store.increment(SPACE, "k"), store.increment(SPACE, "k", by=2), store.increment(SPACE, "k", "m", -1.5)] == [
        1,
        3,
        -1.5,
    ]
    item = store.get(SPACE, "k")
    assert (item.value, item.version) == ({"value": 3, "m": -1.5}, 3)


def test_an_increment_leaves_the_rest_of_the_item_as_it_is(store, clock):
    store.put(SPACE, "k", {"value": 1, "text": "x"}, ttl=10, kind="semantic")
    before = store.get(SPACE, "k", refresh_ttl=False)
    clock.forward(1)
    store.increment(SPACE, "k")
    after = store.get(SPACE, "k", refresh_ttl=False)
    assert (after.value, after.about, after.expires_at) == ({"value": 2, "text": "x"}, before.about, before.expires_at)
    clock.forward(9)
    assert store.increment(SPACE, "k") == 1


@pytest.mark.parametrize("kept", ["text", True, None, [1], float("nan")])
def test_nothing_is_added_to_what_is_no_number(store, kept):
    store.put(SPACE, "k", {"value": kept})
    with pytest.raises(errors.InvalidInputError, match="field 'value' of item 'k'"):
        store.increment(SPACE, "k")
    assert store.get(SPACE, "k").version == 1


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"by": "1"}, "by"),
        ({"by": True}, "by"),
        ({"at_most": "3"}, "at_most"),
        ({"field": 1}, "field"),
        ({"most": 1}, "most"),
    ],
)
def test_an_increment_that_makes_no_sense_is_refused(store, given, names):
    with pytest.raises(errors.InvalidInputError, match=names):
        store.increment(SPACE, "k", **given)
    assert store.count() == 0


@pytest.mark.parametrize(("kept", "by"), [(10**400, 0.5), (0.5, 10**400), (float("inf"), float("-inf"))])
def test_a_sum_that_is_no_number_is_refused(store, kept, by):
    store.put(SPACE, "k", {"value": kept})
    with pytest.raises(errors.InvalidInputError, match="no number"):
        store.increment(SPACE, "k", by=by)
    assert store.get(SPACE, "k").value == {"value": kept}


def test_whole_numbers_have_no_largest(store):
    store.put(SPACE, "k", {"value": 10**400})
    assert store.increment(SPACE, "k", by=-1, at_most=10**401) == 10**400 - 1


def test_a_path_that_can_not_be_stored_is_refused(store):
    with pytest.raises(errors.InvalidInputError, match="half of a character"):
        store.put(SPACE, "k", {}, index=["\ud83d"])


def test_a_bound_is_reached_and_not_passed(store):
    assert [store.increment(SPACE, "k", at_most=3) for _ in range(3)] == [1, 2, 3]
    with pytest.raises(errors.LimitReachedError, match="is 3, and 1 more would pass 3") as caught:
        store.increment(SPACE, "k", at_most=3)
    assert (caught.value.current, caught.value.code, caught.value.status) == (3, "limit_reached", 409)
    assert store.increment(SPACE, "k", by=-3, at_least=0) == 0
    with pytest.raises(errors.LimitReachedError):
        store.increment(SPACE, "k", by=-1, at_least=0)
    with pytest.raises(errors.LimitReachedError) as caught:
        store.increment(SPACE, "new", by=5, at_most=3)
    assert (caught.value.current, store.get(SPACE, "new")) == (0, None)


# An end


def test_an_item_may_end_at_a_moment_which_no_read_moves(store, clock):
    end = clock.moment + dt.timedelta(minutes=10)
    store.put(SPACE, "k", {}, expires_at=end.astimezone(dt.timezone(dt.timedelta(hours=8))))
    clock.forward(9)
    assert store.get(SPACE, "k").expires_at == end
    clock.forward(1)
    assert store.get(SPACE, "k") is None


def test_an_end_that_is_none_is_refused(store, clock):
    naive, over = dt.datetime(2090, 1, 1), clock.moment - dt.timedelta(seconds=1)  # noqa: DTZ001 - refused for that
    for given, names in ((naive, "time zone"), (over, "over"), (clock.moment, "over"), ("2090-01-01", "time zone")):
        with pytest.raises(errors.InvalidInputError, match=names):
            store.put(SPACE, "k", {}, expires_at=given)
    with pytest.raises(errors.InvalidInputError, match="both"):
        store.put(SPACE, "k", {}, ttl=1, expires_at=clock.moment + dt.timedelta(days=1))
    assert store.count() == 0
