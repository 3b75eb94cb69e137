"""`perdure items search`, `reindex`, `tree`, `count`, `mv` and `cp` on real files."""

from __future__ import annotations

import sys

import pytest
from tests.embedders import FakeEmbedder

from perdure import Memory


@pytest.fixture(autouse=True)
def _no_embedder_from_outside(monkeypatch):
    monkeypatch.delenv("PERDURE_EMBED", raising=False)


@pytest.fixture
def filled(memory):
    memory.store.put(("users", "ada"), "food", {"text": "I love pizza"})
    memory.store.put(("users", "ada"), "job", {"text": "I am a plumber"}, kind="semantic")
    memory.store.put(("users", "bob"), "drink", {"text": "每天喝咖啡"})
    return memory.store


@pytest.fixture
def app(tmp_path, monkeypatch):
    """A module of the program, found in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "memory.py").write_text("from tests.embedders import FakeEmbedder\nembed = FakeEmbedder()\n")
    yield "shop.memory:embed"
    sys.modules.pop("shop.memory", None)
    sys.modules.pop("shop", None)


def test_words_are_found_and_the_score_explained(run, filled, url):
    out = run("items", "search", "users", "plumbers", "--explain", "--db", url).out
    assert "users/ada  job" in out
    assert "words 1.000" in out
    assert "(plumber)" in out
    (found,) = run("items", "search", "users", "咖啡", "--db", url, "--json").data
    assert (found["key"], found["explanation"]["terms"]) == ("drink", ["咖", "啡", "咖啡"])
    assert run("items", "search", "users", "zebra", "--db", url).out == "nothing found\n"


def test_a_search_may_be_narrowed(run, filled, url):
    filled.put(("users", "ada"), "old", {"text": "I was a plumber"}, superseded_by="job")
    keys = [item["key"] for item in run("items", "search", "users", "plumber", "--db", url, "--json").data]
    assert keys == ["job"]
    found = run("items", "search", "users", "plumber", "--hidden", "--db", url, "--json").data
    assert {item["key"] for item in found} == {"job", "old"}
    where = '{"text": "I am a plumber"}'
    (only,) = run("items", "search", "users", "plumber", "--hidden", "--filter", where, "--db", url, "--json").data
    assert only["about"] == {"kind": "semantic"}
    assert run("items", "search", "users", "plumber", "--filter", "{", "--db", url).code == 2
    assert run("items", "search", "users", "plumber", "--mode", "fuzzy", "--db", url, "--json").code == 1


def test_vectors_are_made_and_searched_with_an_embedder_of_the_program(run, filled, url, app):
    refused = run("items", "reindex", "--db", url)
    assert (refused.code, "--embed local" in refused.err) == (1, True)
    done = run("items", "reindex", "--embed", app, "--dims", "8", "--db", url, "--json").data
    assert done == {"model": "FakeEmbedder:fake-topics", "dims": 8, "embedded": 3, "switched": False}
    out = run("items", "search", "users/ada", "hungry", "--embed", app, "--explain", "--db", url).out
    assert out.splitlines()[1].split()[2] == "food"
    assert "closeness" in out
    assert "3 dimensions" in run("items", "reindex", "--embed", app, "--dims", "3", "--db", url).err
    assert "shop.memory:none" in run("items", "reindex", "--embed", "shop.memory:none", "--db", url).err


def test_the_local_embedder_needs_no_name_where_it_made_the_vectors(run, filled, url):
    assert run("items", "reindex", "--embed", "local", "--db", url).code == 0
    (first, *_) = run("items", "search", "users/ada", "I'm hungry", "--db", url, "--json").data
    assert first["key"] == "food"
    assert first["explanation"]["cosine"] > 0.7


def test_another_embedder_is_switched_to_and_said_so(run, filled, url, app):
    run("items", "reindex", "--embed", app, "--dims", "8", "--db", url)
    assert "searches use them now" in run("items", "reindex", "--embed", "local", "--dims", "384", "--db", url).out
    refused = run("items", "search", "users", "x", "--embed", app, "--dims", "8", "--db", url, "--json")
    assert refused.json["error"]["code"] == "embedding_model"


def test_namespaces_are_shown_as_a_tree_and_counted(run, filled, url):
    assert run("items", "tree", "--db", url).out == "users\n  ada  2\n  bob  1\n"
    assert run("items", "tree", "--depth", "1", "--db", url).out == "users  3\n"
    assert run("items", "tree", "none", "--db", url).out == "no items\n"
    assert run("items", "tree", "users", "--db", url, "--json").data[0] == {"namespace": ["users", "ada"], "items": 2}
    assert run("items", "count", "users/ada", "--db", url).out == "2\n"
    assert run("items", "count", "--db", url, "--json").data["items"] == 3


def test_a_namespace_is_moved_after_consent_and_copied(run, filled, url):
    assert "would be moved" in run("items", "mv", "users/ada", "people/ada", "--dry-run", "--db", url).out
    assert run("items", "mv", "users/ada", "people/ada", "--db", url).code == 2
    assert filled.count(("users", "ada")) == 2
    moved = run("items", "mv", "users/ada", "people/ada", "--yes", "--db", url).out
    assert moved == "2 items moved: users/ada to people/ada\n"
    copied = run("items", "cp", "people", "archive", "--db", url, "--json").data
    assert copied == {"dry_run": False, "items": 2, "source": ["people"], "target": ["archive"]}
    assert filled.get(("archive", "ada"), "job").about.kind == "semantic"
    clash = run("items", "cp", "people", "archive", "--db", url, "--json")
    assert clash.json["error"]["code"] == "conflict"


def test_an_embedder_may_be_named_by_the_environment(run, filled, url, app, monkeypatch):
    monkeypatch.setenv("PERDURE_EMBED", app)
    assert run("items", "reindex", "--dims", "8", "--db", url).code == 0
    with Memory.open(url, index={"embed": FakeEmbedder(), "dims": 8}) as memory:
        assert len(memory.store.search((), query="dinner", mode="vector")) == 3


def test_the_versions_of_an_item_are_shown_and_purged(run, memory, url):
    memory.store.set_policy(("n",), history=True)
    for number in range(3):
        memory.store.put(("n",), "k", {"x": number}, confidence=0.5)
    found = run("items", "history", "n", "k", "--db", url, "--json").data
    assert [(one["version"], one["value"]) for one in found] == [(3, {"x": 2}), (2, {"x": 1}), (1, {"x": 0})]
    assert (found[0]["replaced_at"], found[1]["replaced_at"]) == (None, found[0]["updated_at"])
    assert found[0]["about"] == {"confidence": 0.5}
    shown = run("items", "history", "n", "k", "--limit", "1", "--db", url).out
    assert shown.splitlines()[1].split()[0] == "3"
    assert "its versions are kept" in run("items", "rm", "n", "k", "--yes", "--db", url).out
    assert len(run("items", "history", "n", "k", "--db", url, "--json").data) == 3
    assert run("items", "rm", "n", "k", "--yes", "--db", url).code == 1
    assert run("items", "rm", "n", "k", "--purge", "--yes", "--db", url, "--json").data["versions_kept"] is False
    assert run("items", "history", "n", "k", "--db", url, "--json").json["error"]["code"] == "not_found"
