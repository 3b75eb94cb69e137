"""What is known about items is moved with them, or it is said that it is not."""

from __future__ import annotations

import pytest

from perdure import Memory
from perdure.moving import OpaqueCodec, OurSource, OurTarget, move

SPACE = ("f",)


@pytest.fixture
def theirs(tmp_path):
    with Memory.open(f"sqlite:///{tmp_path}/theirs.db") as memory:
        yield memory


def between(source, target):
    codec = OpaqueCodec()
    return move(OurSource(source, codec, None), OurTarget(target, codec, None))


def put(memory):
    memory.store.put(SPACE, "k", {"n": 1}, ["n"], kind="semantic", source={"thread": "t"}, confidence=0.5)
    memory.store.put(SPACE, "hidden", {"n": 2}, False, quarantined=True)
    memory.store.put(SPACE, "plain", {"n": 3})


def test_items_keep_what_is_known_about_them_from_one_database_of_ours_to_another(ours, theirs):
    put(theirs)
    report = between(theirs, ours)
    assert (report.counts.items, report.failures, report.notes) == (3, [], [])
    for key in ("k", "hidden", "plain"):
        wanted, found = theirs.store.get(SPACE, key), ours.store.get(SPACE, key)
        assert (found, found.about, found.version) == (wanted, wanted.about, wanted.version)
    assert [item.key for item in ours.store.search(SPACE)] == ["plain", "k"]
    rows = "SELECT key, fields, projection, hidden, embedded FROM items ORDER BY key"
    assert ours.engine._connection.execute(rows).fetchall() == theirs.engine._connection.execute(rows).fetchall()
    assert between(theirs, ours).counts.items_there == 3


def test_an_item_about_which_something_else_is_known_is_a_conflict(ours, theirs):
    put(theirs)
    between(theirs, ours)
    ours.engine._connection.execute("UPDATE items SET about = NULL WHERE key = 'k'")
    (failure,) = between(theirs, ours).failures
    assert failure.error.code == "conflict"


def test_what_stock_stores_have_no_place_for_is_noted(ours, give_back, empty_stock):
    put(ours)
    report = give_back(ours, empty_stock.url)
    assert (report.counts.items, report.failures) == (3, [])
    (note,) = report.notes
    assert note.startswith("2 items were written without their kind")


def test_versions_and_policies_that_are_left_behind_are_noted(ours, theirs):
    theirs.store.set_policy((), history=True)
    put(theirs)
    put(theirs)
    assert [note.partition(" were")[0] for note in between(theirs, ours).notes] == [
        "3 older versions of items",
        "1 policies",
    ]
