"""What is stored comes back: alone, in batches, and for whoever asks later."""

from __future__ import annotations

from datetime import timedelta

import pytest
from langgraph.store.base import GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp

from perdure.testing.opening import Called, Style
from perdure.testing.setting import Setting, Wait, attempt, keys

__all__ = ["Keeping"]

BAD = {
    "value": PutOp(("f",), "bad", {"a": object()}),
    "label": PutOp(("f", ""), "bad", {"a": 1}),
    "namespace": PutOp((), "bad", {"a": 1}),
    "deep": PutOp(("f",), "bad", {"a": [1, {"b": lambda: 0}]}),
}


class Keeping(Setting):
    """Items and batches."""

    def test_an_item_is_created_read_updated_found_and_deleted(self, store: Called) -> None:
        space = ("users", "u1")
        store.put(space, "style", {"tone": "brief"})
        first = store.get(space, "style")
        assert isinstance(first, Item)
        assert (first.namespace, first.key, first.value) == (space, "style", {"tone": "brief"})
        store.put(space, "style", {"tone": "formal"})
        assert store.get(space, "style").value == {"tone": "formal"}
        (found,) = store.search(("users",), filter={"tone": "formal"})
        assert isinstance(found, SearchItem)
        assert (found.namespace, found.key, found.value) == (space, "style", {"tone": "formal"})
        store.delete(space, "style")
        assert store.get(space, "style") is None
        assert store.search(("users",)) == []

    def test_what_is_missing_is_none_and_may_be_deleted(self, store: Called) -> None:
        assert store.get(("none",), "missing") is None
        store.delete(("none",), "missing")
        assert store.search(("none",)) == []

    def test_an_update_keeps_created_at_and_moves_updated_at(self, store: Called, wait: Wait) -> None:
        store.put(("f",), "k", {"n": 1})
        first = store.get(("f",), "k")
        wait(self.ttl / 10)
        store.put(("f",), "k", {"n": 2})
        second = store.get(("f",), "k")
        assert second.created_at == first.created_at
        assert second.updated_at > first.updated_at

    def test_times_are_aware_and_in_utc(self, store: Called) -> None:
        store.put(("f",), "k", {"n": 1})
        item, (found,) = store.get(("f",), "k"), store.search(("f",))
        for moment in (item.created_at, item.updated_at, found.created_at, found.updated_at):
            assert moment.utcoffset() == timedelta(0)

    def test_the_value_that_was_put_stays_the_callers_own(self, store: Called) -> None:
        given = {"l": [1]}
        store.put(("f",), "k", given)
        given["l"].append(2)
        assert store.get(("f",), "k").value == {"l": [1]}

    def test_a_value_that_was_read_is_nobody_elses(self, store: Called) -> None:
        store.put(("f",), "k", {"l": [1]})
        store.get(("f",), "k").value["l"].append(2)
        store.search(("f",))[0].value["l"].append(3)
        assert store.get(("f",), "k").value == {"l": [1]}

    def test_a_read_creates_no_namespace(self, store: Called) -> None:
        store.get(("unknown",), "k")
        store.search(("unknown", "too"))
        assert store.list_namespaces() == []

    def test_an_emptied_namespace_is_not_listed(self, store: Called) -> None:
        store.put(("emptied",), "k", {"n": 1})
        store.put(("kept",), "k", {"n": 1})
        store.delete(("emptied",), "k")
        assert store.list_namespaces() == [("kept",)]

    def test_a_batch_answers_in_the_order_given(self, store: Called) -> None:
        store.batch([PutOp(("f",), "k", {"n": 1}), PutOp(("g",), "k", {"n": 2})])
        given = [
            ListNamespacesOp(),
            GetOp(("g",), "k"),
            PutOp(("h",), "k", {"n": 3}),
            SearchOp(("f",)),
            GetOp(("f",), "x"),
        ]
        spaces, read, put, found, missing = store.batch(given)
        assert {("f",), ("g",)} <= set(spaces)
        assert read.value == {"n": 2}
        assert [item.value for item in found] == [{"n": 1}]
        assert (put, missing) == (None, None)
        assert store.get(("h",), "k").value == {"n": 3}

    @pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
    def test_a_batch_is_stored_whole_or_not_at_all(self, store: Called, bad: PutOp) -> None:
        accepted, _ = attempt(lambda: store.batch([PutOp(("f",), "good", {"a": 1}), bad]))
        assert (store.get(("f",), "good") is not None) == accepted
        if accepted:
            assert store.get(bad.namespace, bad.key).value == bad.value
        else:
            assert store.search(()) == []

    def test_a_store_works_in_a_second_event_loop_after_the_first_is_closed(self, store: Called, style: Style) -> None:
        store.put(("f",), "a", {"n": 1})
        style.renew()
        store.put(("f",), "b", {"n": 1})
        assert sorted(keys(store.search(("f",)))) == ["a", "b"]
