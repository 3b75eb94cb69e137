"""LangGraph's own stores under the suite. Run by test_store_suite.py, which knows where they fail."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from perdure.testing import StoreSuite, Supports


class TestInMemoryStore(StoreSuite):
    supports = Supports(ttl=False)
    ttl = 0.0002  # minutes that really pass

    @pytest.fixture
    def open_store(self):
        return lambda index: InMemoryStore(index=index)


class TestSqliteStore(StoreSuite):
    supports = Supports(query=False)  # its index needs an extension that not every Python lets sqlite3 load
    styles = ("sync",)
    ttl = 0.005
    # Its clock has whole seconds: how these end is chance, or would take a minute.
    test_a_sweep_takes_what_has_ended_and_nothing_else = None
    test_a_read_that_refreshes_moves_the_end = None
    test_a_read_that_does_not_refresh_leaves_the_end = None
    test_without_a_query_the_newest_update_comes_first = None

    @pytest.fixture
    def open_store(self):
        @contextmanager
        def open_one(index):
            with SqliteStore.from_conn_string(":memory:", index=index) as store:
                store.setup()
                yield store

        return open_one


class TestAsyncSqliteStore(TestSqliteStore):
    styles = ("async",)

    @pytest.fixture
    def open_store(self):
        @asynccontextmanager
        async def open_one(index):
            async with AsyncSqliteStore.from_conn_string(":memory:", index=index) as store:
                await store.setup()
                yield store

        return open_one
