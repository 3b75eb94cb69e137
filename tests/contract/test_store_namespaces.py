"""Namespaces and keys of a store: what they may be, and that they are compared label by label."""

from __future__ import annotations

import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from perdure import errors

FORBIDDEN = ["", "a\x00b", "a\nb", "a\x1fb", "a\x85b", "a\u2028b", "a\ud83d", "x" * 100_000]
SYMBOLS = [
    "%",
    "_",
    "*",
    "?",
    "[a]cme",
    "a\\",
    "a.b",
    "a:b",
    "a/b",
    "a",
    "A",
    "acme",
    "a_me",
    "axme",
    "a%",
    "用户",
    "é",
    "e\u0301",
]


@pytest.fixture
def store(memory, styled):
    return styled(memory.store)


def keys(store, *prefix, **options):
    return [item.key for item in store.search(tuple(prefix), **options)]


def test_a_prefix_is_compared_label_by_label(store):
    for space in [
        ("t", "acme"),
        ("t", "acme-corp"),
        ("t", "acme", "sub"),
        ("t", "ACME"),
        ("t", "acme.x"),
        ("tt", "acme"),
    ]:
        store.put(space, "k", {})
    assert {item.namespace for item in store.search(("t", "acme"))} == {("t", "acme"), ("t", "acme", "sub")}
    assert store.list_namespaces(prefix=("t", "acme")) == [("t", "acme"), ("t", "acme", "sub")]
    assert store.count(("t", "acme")) == 2
    store.delete(("t", "acme"), "k")
    assert store.count() == 5


def test_control_comparing_prefixes_as_text_would_let_others_in():
    spaces = [("t", "acme"), ("t", "acme-corp"), ("t", "acme", "sub")]
    assert [space for space in spaces if "/".join(space).startswith("t/acme")] == spaces


@pytest.mark.parametrize("label", [*SYMBOLS, "user@example.com"])
def test_a_label_means_only_itself(store, label):
    for other in {*SYMBOLS, label}:
        store.put((other,), "k", {"label": other})
        store.put((other, "sub"), other, {"label": other})
    assert (store.get((label,), "k")).value == {"label": label}
    assert sorted(keys(store, label)) == sorted(["k", label])
    assert {item.value["label"] for item in store.search((label,))} == {label}
    if label != "*":
        assert store.list_namespaces(prefix=(label,)) == [(label,), (label, "sub")]
    store.delete((label,), "k")
    assert store.count() == 2 * len({*SYMBOLS, label}) - 1


@pytest.mark.parametrize("label", [*FORBIDDEN, 7, None, ("a",)])
def test_a_bad_label_is_refused_by_every_operation(store, label):
    space = ("ok", label)
    for attempt in (
        lambda: store.put(space, "k", {}),
        lambda: store.get(space, "k"),
        lambda: store.delete(space, "k"),
        lambda: store.search(space),
        lambda: store.count(space),
        lambda: store.list_namespaces(prefix=space),
        lambda: store.list_namespaces(suffix=space),
        lambda: store.batch([PutOp(space, "k", {})]),
        lambda: store.batch([GetOp(space, "k")]),
        lambda: store.batch([SearchOp(space)]),
        lambda: store.batch([ListNamespacesOp((MatchCondition("prefix", space),))]),
    ):
        with pytest.raises(errors.InvalidNamespaceError):
            attempt()


@pytest.mark.parametrize("space", [(), "acme", None, 7, ("a",) * 21])
def test_what_is_no_namespace_is_refused(store, space):
    for attempt in (lambda: store.put(space, "k", {}), lambda: store.get(space, "k"), lambda: store.delete(space, "k")):
        with pytest.raises(errors.InvalidNamespaceError):
            attempt()
    if space != ():
        with pytest.raises(errors.InvalidNamespaceError):
            store.search(space)


def test_the_longest_namespace_and_key_are_kept(store):
    space, key = ("\U0010ffff" * 255,) * 20, "\U0010ffff" * 1024
    store.put(space, key, {"a": 1})
    assert (store.get(space, key)).namespace == space
    assert keys(store) == [key]
    assert store.list_namespaces() == [space]


def test_langgraphs_own_namespace_takes_nothing(store):
    for attempt in (
        lambda: store.put(("langgraph", "x"), "k", {}),
        lambda: store.batch([PutOp(("langgraph",), "k", {})]),
    ):
        with pytest.raises(errors.InvalidNamespaceError, match="langgraph"):
            attempt()
    store.put(("x", "langgraph"), "k", {})
    assert store.get(("langgraph",), "k") is None


@pytest.mark.parametrize("key", [*FORBIDDEN, "x" * 1025, 7, True, None, {"$gt": ""}, ["a"]])
def test_what_is_no_key_is_refused(store, key):
    for attempt in (
        lambda: store.put(("f",), key, {}),
        lambda: store.get(("f",), key),
        lambda: store.delete(("f",), key),
    ):
        with pytest.raises(errors.InvalidIdError):
            attempt()


def test_reads_and_deletes_create_no_namespace(store):
    assert store.get(("a",), "k") is None
    store.put(("b",), "k", {})
    store.delete(("b",), "k")
    assert store.search(("c",)) == []
    assert store.list_namespaces() == []


def test_namespaces_are_listed_by_prefix_suffix_wildcard_and_depth(store):
    spaces = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f"), ("z",)]
    for space in reversed(spaces):
        store.put(space, "k", {})
    assert store.list_namespaces() == spaces
    assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "b", "f"),
    ]
    assert store.list_namespaces(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(suffix=("d", "*")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert store.list_namespaces(prefix=("*",) * 4) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert store.list_namespaces(prefix=("a",), suffix=("e",)) == [("a", "b", "d", "e")]
    assert store.list_namespaces(max_depth=1) == [("a",), ("z",)]
    assert store.list_namespaces(limit=2, offset=1) == spaces[1:3]
    assert store.list_namespaces(limit=0) == []
    assert store.list_namespaces(prefix=(), suffix=()) == spaces


def test_many_namespaces_are_listed_page_by_page_without_gaps(store):
    spaces = [(f"n{number:03}", "x") for number in range(600)]
    store.batch([PutOp(space, key, {}) for space in spaces for key in "ab"])
    assert store.list_namespaces(limit=1000) == spaces
    assert store.list_namespaces(limit=300, offset=250) == spaces[250:550]
    assert store.list_namespaces(suffix=("x",), max_depth=1, limit=1, offset=599) == [("n599",)]
