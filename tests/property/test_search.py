"""Searches against brute force: two memories that know nothing of each other change one database, in any order."""

from __future__ import annotations

import itertools
import math

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests import inside
from tests.embedders import FakeEmbedder

from perdure import Memory
from perdure.core.search import words

WORDS = ["pizza", "dinner", "dog", "puppy", "office", "job", "披萨", "咖啡", "number", "seven"]
NAMESPACES = [("a",), ("a", "b"), ("ab",), ("c", "d")]
KEYS = ["k1", "k2", "k3", "k4"]
EMBEDDER = FakeEmbedder()
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)


def cosine(one, other):
    length = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / length


class Searches(RuleBasedStateMachine):
    opened: tuple[Memory, Memory]
    count = itertools.count()

    @initialize()
    def start(self):
        tenant = f"t{next(self.count)}"
        self.memories = [memory.scope(tenant=tenant) for memory in self.opened]
        self.kept = {}

    @rule(which=st.integers(0, 1), where=st.sampled_from(NAMESPACES), key=st.sampled_from(KEYS), text=texts)
    def put(self, which, where, key, text):
        self.memories[which].store.put(where, key, {"text": text})
        self.kept[where, key] = text

    @rule(which=st.integers(0, 1), where=st.sampled_from(NAMESPACES), key=st.sampled_from(KEYS))
    def delete(self, which, where, key):
        self.memories[which].store.delete(where, key)
        self.kept.pop((where, key), None)

    @rule(which=st.integers(0, 1))
    def move(self, which):
        self.memories[which].store.move(("c",), ("moved",))
        for where, key in list(self.kept):
            if where[0] == "c":
                self.kept[("moved", *where[1:]), key] = self.kept.pop((where, key))
        self.memories[which].store.move(("moved",), ("c",))
        for where, key in list(self.kept):
            if where[0] == "moved":
                self.kept[("c", *where[1:]), key] = self.kept.pop((where, key))

    @rule(which=st.integers(0, 1), prefix=st.sampled_from([(), ("a",), ("a", "b"), ("c",), ("none",)]), query=texts)
    def search_by_vectors(self, which, prefix, query):
        found = self.memories[which].store.search(prefix, query=query or "x", mode="vector", limit=50)
        wanted = EMBEDDER.embed_query(query or "x")
        expected = {
            (where, key): cosine(wanted, EMBEDDER.embed_query(text))
            for (where, key), text in self.kept.items()
            if where[: len(prefix)] == prefix and text
        }
        assert {(item.namespace, item.key): pytest.approx(item.score, abs=1e-5) for item in found} == expected
        assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)

    @rule(which=st.integers(0, 1), prefix=st.sampled_from([(), ("a",), ("c",)]), word=st.sampled_from(WORDS))
    def search_by_words(self, which, prefix, word):
        found = self.memories[which].store.search(prefix, query=word, mode="text", limit=50)
        terms = set(words.query(word))
        expected = {
            (where, key)
            for (where, key), text in self.kept.items()
            if where[: len(prefix)] == prefix and terms & set(words.terms(text))
        }
        assert {(item.namespace, item.key) for item in found} == expected

    @rule(prefix=st.sampled_from([(), ("a",), ("c",)]), query=texts)
    def both_say_the_same(self, prefix, query):
        found = [memory.store.search(prefix, query=query or "x", limit=5) for memory in self.memories]
        assert [item.key for item in found[0]] == [item.key for item in found[1]]
        assert [item.score for item in found[0]] == pytest.approx([item.score for item in found[1]], abs=1e-6)


def play(url, examples, steps):
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    bounds = settings(max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=checks)
    index = {"embed": EMBEDDER, "dims": 8}
    with Memory.open(url, index=index) as one, Memory.open(url, index=index) as other:
        machine = type("TestSearches", (Searches,), {"opened": (one, other)})
        run_state_machine_as_test(machine, settings=bounds)


def test_any_sequence_of_changes_is_searched_right_on_sqlite(file_url):
    play(file_url, 30, 25)


def test_any_sequence_of_changes_is_searched_right_on_postgres(application_url):
    play(application_url, 15, 25)


def test_a_transaction_that_ends_later_than_it_began_is_not_overlooked(application_url):
    """PostgreSQL: the change of a transaction is seen though the log was read beyond it before it was committed."""
    with Memory.open(application_url, index={"embed": EMBEDDER, "dims": 8}) as memory:
        memory.store.put(("u",), "first", {"text": "dog"})
        memory.store.put(("u",), "late", {"text": "cat"})
        assert len(memory.store.search(("u",), query="puppy", mode="vector")) == 2
        with psycopg.connect(memory.engine.server.conninfo) as slow:
            slow.execute("SELECT set_config('perdure.tenant', 'default', true)")
            slow.execute("DELETE FROM items WHERE key = 'late'")
            memory.store.put(("u",), "second", {"text": "puppy"})
            assert len(memory.store.search(("u",), query="puppy", mode="text")) == 1
            assert len(memory.store.search(("u",), query="puppy", mode="vector")) == 3
            slow.commit()
        assert {item.key for item in memory.store.search(("u",), query="puppy", mode="vector")} == {"first", "second"}
        assert memory.store.search(("u",), query="cat", mode="text") == []
        (shelf,) = memory._calls.shelves._by_place.values()
        assert shelf.living == 2, "the shelf itself has learnt of it, not only the look at what is returned"


def test_a_shelf_from_before_the_log_was_trimmed_is_made_anew(shared_url):
    with Memory.open(shared_url) as memory:
        for n in range(5):
            memory.store.put(("u",), f"k{n}", {"text": f"dog {n}"})
        assert len(memory.store.search(("u",), query="dog")) == 5
        memory.store.delete(("u",), "k1")
        memory.store.put(("u",), "k2", {"text": "cat"})
        inside.rows(memory, "UPDATE item_changes SET item = NULL WHERE n = (SELECT max(n) FROM item_changes)")
        inside.rows(memory, "DELETE FROM item_changes WHERE item IS NOT NULL")
        assert {item.key for item in memory.store.search(("u",), query="dog")} == {"k0", "k3", "k4"}
        assert [item.key for item in memory.store.search(("u",), query="cat")] == ["k2"]
        memory.store.put(("u",), "k9", {"text": "dog"})
        assert len(memory.store.search(("u",), query="dog")) == 4
