"""Whose store is measured: Perdure's, those that come with LangGraph, and the least that a search can cost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import apsw
import psycopg
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore

from benchmarks import adapter, embedders, notes
from benchmarks.notes import Place
from perdure import Memory

__all__ = ["Floor", "Theirs", "opened"]

_AT_ONCE = 500
_HNSW = "store_vectors_embedding_idx"


@dataclass
class Theirs:
    """A store. One that knows no tenants has a label for each."""

    store: BaseStore
    namespace: Callable[[Place], tuple[str, ...]] = lambda where: (where.tenant or "all", where.name)

    def at(self, where: Place) -> Any:  # noqa: ARG002 - ours has one for each tenant
        """Return the store for a place."""
        return self.store

    def fill(self, where: Place) -> None:
        """Put the items of a place."""
        ops = [PutOp(self.namespace(where), key, value) for key, value in notes.items(where)]
        for at in range(0, len(ops), _AT_ONCE):
            self.at(where).batch(ops[at : at + _AT_ONCE])

    def ready(self) -> None:
        """Do what is done once all is there."""

    def put(self, where: Place, key: str, value: Any) -> None:
        """Put one item."""
        self.at(where).put(self.namespace(where), key, value)

    def search(self, where: Place, query: str, mode: str) -> list[str]:  # noqa: ARG002 - theirs has one
        """Return the keys of what is nearest."""
        return [item.key for item in self.at(where).search(self.namespace(where), query=query, limit=notes.K)]


class Postgres(Theirs):
    """PostgresStore. Its index is made once, after all items are there: to fill it row by row takes many minutes."""

    def __init__(self, store: PostgresStore, url: str) -> None:
        super().__init__(store)
        self._url = url
        self._index = ""

    def fill(self, where: Place) -> None:
        """Put the items of a place; the index waits."""
        if not self._index:
            self._index = self._run(f"SELECT pg_get_indexdef('{_HNSW}'::regclass)")
            self._run(f"DROP INDEX {_HNSW}")
        super().fill(where)

    def ready(self) -> None:
        """Make the index as it was defined, and say how many rows the tables have."""
        if self._index:
            self._run("SET maintenance_work_mem = '1GB'", self._index, "ANALYZE")

    def _run(self, *statements: str) -> str:
        with psycopg.connect(self._url, autocommit=True) as connection:
            found = [connection.execute(statement.encode()) for statement in statements][-1]
            return str((found.fetchone() or [""])[0]) if found.description else ""


class Ours(Theirs):
    """Perdure's store; a tenant is a tenant."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory.store, lambda where: ("all", where.name))
        self._memory = memory
        self._tenants: dict[str, Any] = {}

    def at(self, where: Place) -> Any:
        """Return the view of a tenant."""
        if where.tenant is None:
            return self.store
        if where.tenant not in self._tenants:
            self._tenants[where.tenant] = self._memory.scope(tenant=where.tenant).store
        return self._tenants[where.tenant]

    def search(self, where: Place, query: str, mode: str) -> list[str]:
        """Return the keys of what is best."""
        found = self.at(where).search(self.namespace(where), query=query, limit=notes.K, mode=mode)
        return [item.key for item in found]


class Floor:
    """Brute force: the vectors in an array, and one query for the rows that it names."""

    def __init__(self, execute: Callable[[str, Any], Any], select: str, insert: str) -> None:
        self._execute, self._select, self._insert = execute, select, insert
        execute("CREATE TABLE rows (id BIGINT PRIMARY KEY, value TEXT)", ())
        self._firsts: dict[Place, int] = {}
        self._next = 1

    def fill(self, where: Place) -> None:
        """Keep the vectors, and write the rows."""
        notes.matrix(where)
        self._firsts[where] = self._next
        self._execute("BEGIN", ())
        for number, (_, value) in enumerate(notes.items(where), start=self._next):
            self._execute(self._insert, (number, json.dumps(value)))
        self._execute("COMMIT", ())
        self._next += where.count

    def ready(self) -> None:
        """Do nothing more."""

    def put(self, where: Place, key: str, value: Any) -> None:
        """Do nothing: it is what a search alone costs."""

    def search(self, where: Place, query: str, mode: str) -> list[str]:  # noqa: ARG002 - one interface
        """Return the keys of what is nearest."""
        rows = notes.best(notes.matrix(where), embedders.vector(query))
        first = self._firsts[where]
        found = self._execute(self._select, (json.dumps([first + row for row in rows]),)).fetchall()
        assert len(found) == len(rows)
        return [str(row) for row in rows]


_ON_SQLITE = (
    "SELECT rows.id, rows.value FROM json_each(?) j CROSS JOIN rows ON rows.id = j.value ORDER BY j.key",
    "INSERT INTO rows VALUES (?, ?)",
)
_ON_POSTGRES = (
    "SELECT id, value FROM jsonb_array_elements_text(%s::jsonb) WITH ORDINALITY j (n, at) JOIN rows ON id = n::bigint",
    "INSERT INTO rows VALUES (%s, %s)",
)


@contextmanager
def opened(name: str, where: str, *, indexed: bool) -> Iterator[Any]:
    """Open a contestant on a file or on a PostgreSQL, as it comes; `indexed`: with the fake embedder."""
    index: Any = {"embed": embedders.FakeEmbedder(), "dims": embedders.DIMS, "fields": ["text"]} if indexed else None
    if name == "perdure":
        with Memory.open(where if "://" in where else f"sqlite:///{where}", index=index) as memory:
            yield Ours(memory)
    elif name == "inmemory-store":
        yield Theirs(InMemoryStore(index=index))
    elif name == "sqlite-store":
        # It knows "fields", which LangGraph's IndexConfig has, by another name, and would index the whole value.
        with _sqlite(where, index and {**index, "text_fields": index["fields"]}) as store:
            store.setup()
            yield Theirs(store)
    elif name == "postgres-store":
        with PostgresStore.from_conn_string(where, index=index) as store:
            store.setup()
            yield Postgres(store, where) if indexed else Theirs(store)
    elif "://" in where:
        with psycopg.connect(where, autocommit=True, prepare_threshold=0) as connection:
            yield Floor(lambda sql, given: connection.execute(sql.encode(), given or None), *_ON_POSTGRES)
    else:
        with closing(apsw.Connection(where)) as connection:
            yield Floor(connection.execute, *_ON_SQLITE)


@contextmanager
def _sqlite(where: str, index: Any) -> Iterator[SqliteStore]:
    """Open SqliteStore; over the adapter if it needs its extension and this Python's sqlite3 loads none."""
    if index is None or hasattr(sqlite3.Connection, "enable_load_extension"):
        with SqliteStore.from_conn_string(where, index=index) as store:
            yield store
    else:
        with closing(adapter.autocommitting(where)) as connection:
            yield SqliteStore(connection, index=index)  # type: ignore[arg-type]
