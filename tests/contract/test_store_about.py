"""What is known about an item: kept apart from its value, checked, returned, and a reason not to be found."""

from __future__ import annotations

import datetime as dt

import pytest

from perdure import About, Source, errors

NOON = dt.datetime(2026, 3, 4, 12, tzinfo=dt.UTC)
ALL = {
    "kind": "episodic",
    "source": {"thread": "t1", "checkpoint": "c1", "message": "m1", "speaker": "Ada", "channel": "user"},
    "confidence": 0.75,
    "importance": 1,
    "valid_from": NOON,
    "valid_to": NOON + dt.timedelta(days=1),
}


@pytest.fixture
def store(memory, styled):
    return styled(memory.store)


def test_what_is_known_comes_back_and_the_value_does_not_hold_it(store):
    store.put(("f",), "k", {"text": "x"}, **ALL)
    found = store.get(("f",), "k")
    source = Source(thread="t1", checkpoint="c1", message="m1", speaker="Ada", channel="user")
    assert found.about == About(**{**ALL, "source": source})
    assert found.value == {"text": "x"}
    (searched,) = store.search(("f",))
    assert searched.about == found.about
    store.put(("f",), "k", {"text": "x"}, source=source)
    assert store.get(("f",), "k").about == About(source=source)
    store.put(("f",), "k", {"text": "x"})
    assert store.get(("f",), "k").about == About()


def test_a_value_of_the_same_words_stays_apart(store):
    store.put(("f",), "k", {"$about": {"kind": "semantic"}, "kind": "own"}, kind="procedural")
    found = store.get(("f",), "k")
    assert found.value == {"$about": {"kind": "semantic"}, "kind": "own"}
    assert found.about == About(kind="procedural")


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"kind": "other"}, "semantic"),
        ({"source": {"channel": "radio"}}, "source.channel"),
        ({"source": {"person": "x"}}, "speaker"),
        ({"source": "x"}, "perdure.Source"),
        ({"source": {"speaker": ""}}, "source.speaker"),
        ({"confidence": 1.1}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"importance": True}, "importance"),
        ({"valid_from": dt.datetime(2026, 3, 4)}, "valid_from"),  # noqa: DTZ001 - that is what is refused
        ({"valid_from": NOON, "valid_to": NOON - dt.timedelta(1)}, "valid_to"),
        ({"valid_to": dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=5)))}, "valid_to"),
        ({"superseded_by": ""}, "superseded_by"),
        ({"quarantined": "yes"}, "quarantined"),
        ({"sort": "semantic"}, "kind"),
    ],
)
def test_what_is_said_wrongly_is_refused_by_name(store, said, names):
    with pytest.raises(errors.InvalidInputError, match=names):
        store.put(("f",), "k", {"text": "x"}, **said)
    assert store.get(("f",), "k") is None


def test_what_is_superseded_or_quarantined_is_found_by_its_key_only(store):
    store.put(("f",), "old", {"n": 1}, superseded_by="new")
    store.put(("f",), "new", {"n": 2})
    store.put(("f",), "odd", {"n": 3}, quarantined=True)
    assert [item.key for item in store.search(("f",))] == ["new"]
    assert store.get(("f",), "old").about.superseded_by == "new"
    assert store.get(("f",), "odd").about.quarantined
