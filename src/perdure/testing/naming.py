"""Namespaces: compared label by label, and by one rule at every operation."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langgraph.store.base import ListNamespacesOp, MatchCondition, PutOp, SearchOp

from perdure.testing.opening import Called
from perdure.testing.setting import Setting, attempt, keys

__all__ = ["Naming"]

# Dots apart: LangGraph's own stores refuse them.
LABELS = ("a_me", "axme", "a%", "a", "A", "%", "_", "*", "?", "[a]cme", "a\\", "a:b", "a/b", "用户", "é", "e\u0301")
DOTTED = ("user@example.com", "a.b", "acme.x")
ODD = {
    "empty label": ("ok", ""),
    "NUL": ("ok", "a\0b"),
    "newline": ("a\nb",),
    "100 kB": ("x" * 100_000,),
    "no label": (),
    "number": (7,),
}


class Naming(Setting):
    """Namespaces and labels."""

    def test_a_prefix_is_compared_label_by_label(self, store: Called) -> None:
        for space in [("t", "acme"), ("t", "acme-corp"), ("t", "acme", "sub"), ("t", "ACME"), ("tt", "acme")]:
            store.put(space, "k", {"of": space[-1]})
        wanted = [("t", "acme"), ("t", "acme", "sub")]
        assert sorted(item.namespace for item in store.search(("t", "acme"))) == wanted
        assert sorted(store.list_namespaces(prefix=("t", "acme"))) == wanted
        assert store.list_namespaces(suffix=("acme",), prefix=("tt",)) == [("tt", "acme")]
        assert len(store.search(())) == 5

    def test_a_delete_reaches_its_own_namespace_only(self, store: Called) -> None:
        spaces = [("acme",), ("acme-corp",), ("ACME",), ("acme", "x")]
        for space in spaces:
            store.put(space, "k", {"n": 1})
        store.delete(("acme",), "k")
        assert [store.get(space, "k") is None for space in spaces] == [True, False, False, False]

    def test_a_label_means_only_itself(self, store: Called) -> None:
        for label in LABELS:
            store.put((label,), "k", {"label": label})
            store.put((label, "sub"), "k", {"label": label})
        for label in LABELS:
            assert store.get((label,), "k").value == {"label": label}
            assert [item.value["label"] for item in store.search((label,))] == [label, label]
            if label != "*":  # which stands for any label there
                assert store.list_namespaces(prefix=(label,)) == [(label,), (label, "sub")]

    @pytest.mark.parametrize("label", DOTTED)
    def test_a_dot_is_a_character_like_others(self, store: Called, label: str) -> None:
        store.put((label,), "k", {"n": 1})
        store.put((label.replace(".", "x"),), "k", {"n": 2})
        assert store.get((label,), "k").value == {"n": 1}
        assert [item.value for item in store.search((label,))] == [{"n": 1}]

    @pytest.mark.parametrize("space", ODD.values(), ids=ODD)
    def test_an_odd_namespace_is_refused_or_kept_by_one_rule(self, store: Called, space: tuple[str, ...]) -> None:
        stored, _ = attempt(lambda: store.put(space, "k", {"n": 1}))
        found = store.list_namespaces()
        batched, _ = attempt(lambda: store.batch([PutOp(space, "k", {"n": 1})]))
        assert batched == stored, "put and batch follow two rules"
        assert store.list_namespaces() == found == ([space] if stored else [])
        if stored:
            assert store.get(space, "k").value == {"n": 1}

    def test_namespaces_are_listed_by_prefix_suffix_depth_and_page(self, store: Called) -> None:
        spaces = [("a", "b", "c"), ("a", "b", "d"), ("a", "e"), ("f", "c")]
        for space in spaces:
            store.put(space, "k", {"n": 1})
        assert sorted(store.list_namespaces()) == spaces
        assert sorted(store.list_namespaces(prefix=("a", "*", "c"))) == [("a", "b", "c")]
        assert sorted(store.list_namespaces(suffix=("c",))) == [("a", "b", "c"), ("f", "c")]
        assert sorted(store.list_namespaces(max_depth=2)) == [("a", "b"), ("a", "e"), ("f", "c")]
        pages = [space for at in range(0, 6, 2) for space in store.list_namespaces(limit=2, offset=at)]
        assert sorted(pages) == spaces

    @pytest.mark.parametrize("number", [-1, 1.5, "1"])
    def test_a_limit_that_is_no_number_of_items_is_refused(self, store: Called, number: object) -> None:
        store.put(("f",), "k", {"n": 1})
        calls: list[Callable[[], object]] = [
            lambda: store.search((), limit=number),
            lambda: store.search((), offset=number),
            lambda: store.list_namespaces(limit=number),
            lambda: store.list_namespaces(offset=number),
        ]
        assert [attempt(call)[0] for call in calls] == [False] * 4

    def test_operations_of_a_batch_see_labels_as_single_calls_do(self, store: Called) -> None:
        store.put(("t", "acme"), "k", {"n": 1})
        store.put(("t", "acme-corp"), "k", {"n": 1})
        listing = ListNamespacesOp((MatchCondition("prefix", ("t", "acme")),))
        found, spaces = store.batch([SearchOp(("t", "acme")), listing])
        assert keys(found) == ["k"]
        assert spaces == [("t", "acme")]
