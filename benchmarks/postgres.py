"""Perdure and the stock savers on one private PostgreSQL, each in a database of its own."""

from __future__ import annotations

import asyncio
import atexit
import functools
import random
import secrets
import time
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from tests import databases, servers

from benchmarks import contestants
from perdure import Memory

__all__ = ["LABELS", "bytes_of", "commit", "database", "drop", "open_saver", "owner", "server"]

LABELS = {"postgres": "PostgresSaver", "async-postgres": "AsyncPostgresSaver"}
"""What the stock savers are called in tables."""

_STOCK = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""What the stock savers' `from_conn_string` opens a connection with, and their page asks for in a pool."""


@functools.cache
def server() -> servers.Server:
    """Return the server of this run; it ends with this process."""
    servers.sweep()
    found = servers.Server(servers.HOME / f"bench-{secrets.token_hex(6)}")
    atexit.register(found.close)
    found.start()
    return found


def database(name: str) -> str:
    """Make an empty database for a contestant, set it up, and return the URL it is opened with.

    Perdure opens it as the role that its manual recommends: one that owns nothing, behind the walls between tenants.
    """
    made = f"{name.replace('-', '_')}_{secrets.token_hex(4)}"
    with psycopg.connect(server().url(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {made} TEMPLATE template0".encode())
    url = server().url(made)
    if name == "perdure":
        databases.prepare(url)
        return server().url(made, user=databases.APPLICATION)
    if name in LABELS:
        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()
    return url


def drop(url: str) -> None:
    """Remove a database."""
    name = url.rpartition("/")[2].partition("?")[0]
    with psycopg.connect(server().url(), autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def owner(url: str) -> str:
    """Return the URL with which the superuser opens the same database."""
    return server().url(url.rpartition("/")[2].partition("?")[0])


@contextmanager
def open_saver(name: str, url: str, *, pool: int = 0, runner: asyncio.Runner | None = None) -> Iterator[Any]:
    """Open a contestant; with a pool of so many connections, or else as it comes."""
    if name == "perdure":
        options = {"min_size": pool, "max_size": pool} if pool else None
        with Memory.open(url, pool=options) as memory:
            yield memory.checkpointer
    elif name == "postgres" and pool:
        with ConnectionPool(url, min_size=pool, max_size=pool, kwargs=_STOCK) as connections:
            yield PostgresSaver(connections)  # type: ignore[arg-type]
    elif name == "postgres":
        with PostgresSaver.from_conn_string(url) as saver:
            yield saver
    elif name == "async-postgres":
        assert runner is not None, "AsyncPostgresSaver belongs to an event loop"
        with contestants.entered(_async_stock(url, pool), runner) as saver:
            yield saver
    else:
        yield {"keep": contestants.KeepSaver, "none": lambda: None}[name]()


@asynccontextmanager
async def _async_stock(url: str, pool: int) -> AsyncIterator[Any]:
    if pool:
        async with AsyncConnectionPool(url, min_size=pool, max_size=pool, kwargs=_STOCK) as connections:
            yield AsyncPostgresSaver(connections)  # type: ignore[arg-type]
    else:
        async with AsyncPostgresSaver.from_conn_string(url) as saver:
            yield saver


def commit(url: str) -> Generator[float | None, object, None]:
    """Measure the milliseconds of a durable commit: one row of 2 kB, in one round trip."""
    blob = random.Random(2).randbytes(2048)
    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as connection:
        connection.execute("CREATE TABLE rows (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, blob bytea)")
        yield None
        while True:
            start = time.perf_counter()
            for _ in range(50):
                connection.execute("INSERT INTO rows (blob) VALUES (%s)", [blob])
            yield (time.perf_counter() - start) * 1000 / 50


def bytes_of(url: str) -> int:
    """Return the bytes of all tables and their indexes, after VACUUM."""
    with psycopg.connect(owner(url), autocommit=True) as admin:
        admin.execute("VACUUM")
        row = admin.execute(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchone()
    return int(row[0]) if row else 0
