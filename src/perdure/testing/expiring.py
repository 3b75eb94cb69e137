"""Time to live: what has ended is gone, swept or not."""

from __future__ import annotations

from perdure.testing.opening import Called
from perdure.testing.setting import Setting, Wait, keys, needs

__all__ = ["Expiring"]


class Expiring(Setting):
    """Items that end."""

    @needs("ttl")
    def test_what_has_ended_is_gone_for_every_read_before_a_sweep(self, store: Called, wait: Wait) -> None:
        store.put(("f",), "k", {"n": 1}, ttl=self.ttl)
        store.put(("kept",), "k", {"n": 1})
        assert store.get(("f",), "k", refresh_ttl=False).value == {"n": 1}
        wait(1.2 * self.ttl)
        for _ in range(2):  # a read doesn't revive it
            assert store.get(("f",), "k") is None
            assert [item.namespace for item in store.search(())] == [("kept",)]
            assert store.search(("f",), filter={"n": 1}) == []
            assert store.list_namespaces() == [("kept",)]

    @needs("ttl")
    def test_a_sweep_takes_what_has_ended_and_nothing_else(self, store: Called, wait: Wait) -> None:
        store.put(("f",), "k", {"n": 1}, ttl=self.ttl)
        store.put(("f",), "later", {"n": 1}, ttl=100 * self.ttl)
        store.put(("f",), "kept", {"n": 1})
        wait(1.2 * self.ttl)
        self.sweep(store.store)
        assert sorted(keys(store.search(("f",)))) == ["kept", "later"]

    @needs("ttl")
    def test_a_read_that_refreshes_moves_the_end(self, store: Called, wait: Wait) -> None:
        store.put(("f",), "got", {"n": 1}, ttl=self.ttl)
        store.put(("g",), "found", {"n": 1}, ttl=self.ttl)
        for _ in range(3):
            wait(0.5 * self.ttl)
            self.sweep(store.store)
            assert store.get(("f",), "got", refresh_ttl=True) is not None
            assert keys(store.search(("g",), refresh_ttl=True)) == ["found"]
        wait(1.2 * self.ttl)
        self.sweep(store.store)
        assert store.search(()) == []

    @needs("ttl")
    def test_a_read_that_does_not_refresh_leaves_the_end(self, store: Called, wait: Wait) -> None:
        store.put(("f",), "k", {"n": 1}, ttl=self.ttl)
        wait(0.5 * self.ttl)
        assert store.get(("f",), "k", refresh_ttl=False) is not None
        assert keys(store.search(("f",), refresh_ttl=False)) == ["k"]
        wait(0.7 * self.ttl)
        self.sweep(store.store)
        assert store.get(("f",), "k") is None

    @needs("ttl")
    def test_a_put_without_a_ttl_takes_the_end_away(self, store: Called, wait: Wait) -> None:
        store.put(("f",), "k", {"n": 1}, ttl=self.ttl)
        store.put(("f",), "k", {"n": 2})
        wait(1.2 * self.ttl)
        self.sweep(store.store)
        assert store.get(("f",), "k").value == {"n": 2}

    @needs("ttl")
    @needs("query")
    def test_what_has_ended_is_not_found_by_meaning(self, indexed: Called, wait: Wait) -> None:
        indexed.put(("f",), "k", {"text": "pizza"}, ttl=self.ttl)
        indexed.put(("f",), "kept", {"text": "pizza"})
        wait(1.2 * self.ttl)
        assert keys(indexed.search(("f",), query="pizza")) == ["kept"]
