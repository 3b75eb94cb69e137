"""Namespaces as a whole: counted, moved and copied."""

from __future__ import annotations

import pytest
from tests import inside
from tests.embedders import FakeEmbedder

from perdure import Memory, errors


@pytest.fixture
def indexed(url):
    with Memory.open(url, index={"embed": FakeEmbedder(), "dims": 8}) as memory:
        yield memory


@pytest.fixture
def store(indexed, styled):
    return styled(indexed.store)


def fill(store):
    store.put(("a",), "k", {"text": "dog"}, kind="semantic")
    store.put(("a", "x"), "k", {"text": "cat"}, ttl=60)
    store.put(("a", "x", "y"), "k", {"text": "puppy"})
    store.put(("a-b",), "k", {"text": "pizza"})


def test_namespaces_are_counted_as_deep_as_one_asks(store):
    fill(store)
    assert store.namespace_counts() == {("a",): 1, ("a", "x"): 1, ("a", "x", "y"): 1, ("a-b",): 1}
    assert store.namespace_counts(max_depth=1) == {("a",): 3, ("a-b",): 1}
    assert store.namespace_counts(("a",), max_depth=2) == {("a",): 1, ("a", "x"): 2}
    assert store.namespace_counts(("none",)) == {}
    with pytest.raises(errors.InvalidLimitError):
        store.namespace_counts(max_depth=0)


def test_a_namespace_moves_with_all_below_it_and_is_found_there(store, indexed):
    fill(store)
    before = store.get(("a",), "k")
    store.search((), query="dog")
    assert store.move(("a",), ("b", "c")) == 3
    assert store.list_namespaces() == [("a-b",), ("b", "c"), ("b", "c", "x"), ("b", "c", "x", "y")]
    after = store.get(("b", "c"), "k")
    assert (after.value, after.version, after.created_at, after.updated_at, after.about) == (
        before.value, before.version, before.created_at, before.updated_at, before.about,
    )  # fmt: skip
    assert store.get(("a",), "k") is None
    assert store.search(("a",), query="dog") == []
    assert len(store.search(("b",), query="dog", mode="vector")) == 3
    assert len(store.search((), query="dog", mode="vector")) == 4
    assert inside.rows(indexed, "SELECT count(*) FROM item_vectors") == [(4,)]


def test_a_copy_has_vectors_and_goes_its_own_way(store):
    fill(store)
    store.put(("a",), "k", {"text": "dog"})
    assert store.copy(("a",), ("b",)) == 3
    assert store.get(("b",), "k").version == 1
    assert store.get(("b", "x"), "k").expires_at is not None
    store.put(("b",), "k", {"text": "pizza"})
    assert store.get(("a",), "k").value == {"text": "dog"}
    assert len(store.search(("b",), query="dog", mode="vector")) == 3
    assert len(store.search(("a",), query="dog", mode="vector")) == 3


@pytest.mark.parametrize("way", ["move", "copy"])
def test_what_is_in_the_way_stops_all_of_it(store, way):
    fill(store)
    store.put(("b", "x"), "k", {"text": "here"})
    with pytest.raises(errors.ConflictError, match=r"'k'.*'b', 'x'"):
        getattr(store, way)(("a",), ("b",))
    assert store.get(("b",), "k") is None
    assert store.get(("a",), "k").value == {"text": "dog"}
    for source, target in [(("a",), ("a", "z")), (("a", "x"), ("a",)), (("a",), ("a",))]:
        with pytest.raises(errors.InvalidNamespaceError, match="within"):
            getattr(store, way)(source, target)
    with pytest.raises(errors.InvalidNamespaceError, match="20 labels"):
        getattr(store, way)(("a",), ("l",) * 19)
    with pytest.raises(errors.InvalidNamespaceError):
        getattr(store, way)(("a",), ())


def test_nothing_to_move_is_no_error_and_another_tenant_is_not_reached(store, indexed):
    indexed.scope(tenant="other").store.put(("a",), "k", {"text": "theirs"})
    assert store.move(("a",), ("b",)) == 0
    assert store.copy(("a",), ("b",)) == 0
    assert indexed.scope(tenant="other").store.get(("a",), "k").value == {"text": "theirs"}
