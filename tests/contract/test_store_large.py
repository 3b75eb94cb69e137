"""Namespaces with more vectors than a process keeps are searched exactly all the same."""

from __future__ import annotations

import dataclasses
import math
import random

import psycopg
import pytest
from langgraph.store.base import PutOp

from perdure import Memory, errors
from perdure.core.search import finding
from perdure.core.search.shelves import Shelves

ABOUT = ("u",)
DIMS = 16


def embed(texts):
    return [[random.Random(f"{text}{n}").gauss(0, 1) for n in range(DIMS)] for text in texts]


def fill(store, count=400):
    store.batch([PutOp(ABOUT, f"k{n}", {"text": f"item {n}"}) for n in range(count)])
    store.batch([PutOp(("u2",), f"k{n}", {"text": f"other {n}"}) for n in range(50)])


def small(memory):
    """Return the memory with next to no room for vectors."""
    return Memory(dataclasses.replace(memory._calls, shelves=Shelves(limit=2000)))


def compared(memory):
    """Return what is found with and without room, as keys and scores."""
    for store in (memory.store, small(memory).store):
        found = store.search(ABOUT, query="item 7", mode="vector", limit=20)
        yield [(item.key, pytest.approx(item.score, abs=1e-5)) for item in found]


def test_what_is_found_does_not_hang_on_what_is_kept(url):
    with Memory.open(url, index={"embed": embed, "dims": DIMS}) as memory:
        fill(memory.store)
        whole, paged = compared(memory)
        assert len(whole) == 20
        assert whole == paged
        assert whole[0][0] == "k7"
        tight = small(memory)
        assert tight.store.search(ABOUT, query="item 7", limit=1)[0].key == "k7"
        assert len(tight.store.search(ABOUT, query="item 7", limit=300)) == 300
        memory.store.delete(ABOUT, "k7")
        assert "k7" not in [item.key for item in tight.store.search(ABOUT, query="item 7", limit=30)]
        assert tight._calls.shelves._by_place == {}


def test_a_filter_that_only_far_items_meet_finds_them(url, monkeypatch):
    monkeypatch.setattr(finding, "_NEAREST", 10)
    with Memory.open(url, index={"embed": embed, "dims": DIMS}) as memory:
        fill(memory.store)
        far = [item.key for item in memory.store.search(ABOUT, query="item 7", mode="vector", limit=400)][-5:]
        wanted = {"text": {"$in": [f"item {key[1:]}" for key in far]}}
        for mode in ("vector", "hybrid"):
            for store in (memory.store, small(memory).store):
                found = store.search(ABOUT, query="item 7", mode=mode, filter=wanted, limit=5)
                assert sorted(item.key for item in found) == sorted(far)
        assert len(small(memory).store.search(ABOUT, query="zebra", limit=1000)) == 400


def test_what_is_far_is_not_taken_for_what_has_no_vector(url, monkeypatch):
    monkeypatch.setattr(finding, "_NEAREST", 10)

    def turned(texts):
        """Turn a text by the degrees that it names, and any other out of the plane."""
        named = {"zebra": "at 0"}
        angles = [
            math.radians(float(at.split()[1])) if (at := named.get(text, text)).startswith("at") else None
            for text in texts
        ]
        return [[0.0, 0.0, 1.0] if at is None else [math.cos(at), math.sin(at), 0.0] for at in angles]

    with Memory.open(url, index={"embed": turned, "dims": 3}) as memory:
        memory.store.batch([PutOp(ABOUT, f"k{n}", {"text": f"at {n / 10}"}) for n in range(300)])
        memory.store.put(ABOUT, "near", {"text": "at 0.01 zebra"})
        memory.store.put(ABOUT, "far", {"text": "at 170 zebra"})
        for store in (memory.store, small(memory).store):
            found = store.search(ABOUT, query="zebra", limit=8)
            assert found[0].key == "near"
            assert "far" not in [item.key for item in found]


@pytest.mark.parametrize("schema", [None, "apart"])
def test_pgvector_measures_where_it_is_installed(postgres_url, schema):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    with pytest.warns(errors.UnsafeRoleWarning, match="superuser"):
        memory = Memory.open(postgres_url, index={"embed": embed, "dims": DIMS}, schema=schema)
    with memory:
        assert memory.engine.server.measures
        fill(memory.store)
        whole, measured = compared(memory)
        assert whole == measured


def test_without_pgvector_nothing_is_measured_by_the_server(application_url):
    with Memory.open(application_url) as memory:
        assert not memory.engine.server.measures
