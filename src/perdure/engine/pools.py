"""Pools: psycopg's, blocking and one for each event loop, behind one interface; ours to open, watch and close.

Both kinds have `async` methods, so that what uses them is written once. Those of the blocking kind never suspend.
"""

from __future__ import annotations

import asyncio
import select
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import psycopg
import psycopg_pool
from psycopg.pq import ConnStatus, TransactionStatus

from perdure import errors
from perdure.engine import Params, Row
from perdure.engine.deadlines import Deadline, Deadlines

__all__ = ["Answer", "Link", "Pool", "Pools", "Statement"]

Statement = tuple[str, Params]
"""SQL and its parameters."""

_TRIES = 200
"""Dead connections that one call throws away before it gives up; a pool is smaller."""
_QUIET = 60.0
"""Seconds without use after which a connection is asked whether it still answers."""
_LAST = 5.0
"""Seconds that closing a pool waits for its threads."""
_OURS = {"min_size": 0, "max_size": 10, "timeout": 30.0, "max_idle": 300.0, "max_lifetime": 3600.0}


class Answer(NamedTuple):
    """What a statement gave: its rows, and how many it changed."""

    rows: list[Row]
    changed: int


class Link(Protocol):
    """One connection, taken from a pool."""

    deadline: Deadline

    async def exchange(self, batch: Sequence[Statement]) -> list[Answer]:
        """Send statements together and return their answers: one round trip."""

    async def roll_back(self) -> None:
        """End a transaction that is not to be committed; close the connection if that fails."""


class Pool(Protocol):
    """Connections for one calling style."""

    async def take(self) -> Link:
        """Return a connection that is alive; its deadline runs."""

    async def give(self, link: Any) -> None:
        """Take a connection back, and end its deadline."""


def alive(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Tell without a round trip whether a connection is open: a server that has ended it has said so."""
    pgconn = connection.pgconn
    if pgconn.status != ConnStatus.OK or pgconn.transaction_status != TransactionStatus.IDLE:
        return False
    poll = select.poll()
    poll.register(pgconn.socket, select.POLLIN)
    try:
        while poll.poll(0):
            pgconn.consume_input()
            if pgconn.status != ConnStatus.OK:
                return False
    except (psycopg.Error, OSError):
        return False
    return True


class _BlockingConnection(psycopg.Connection[Row]):
    used = 0.0


class _LoopConnection(psycopg.AsyncConnection[Row]):
    used = 0.0


def _is_quiet(connection: _BlockingConnection | _LoopConnection) -> bool:
    return time.monotonic() - connection.used > _QUIET


class BlockingLink:
    """A connection used from a thread."""

    def __init__(self, connection: _BlockingConnection, deadline: Deadline) -> None:
        self.connection = connection
        self.deadline = deadline

    async def exchange(self, batch: Sequence[Statement]) -> list[Answer]:
        """Send statements together and return their answers."""
        connection = self.connection
        with connection.pipeline():
            cursors = [connection.execute(sql, params, binary=True) for sql, params in batch]
        return [Answer(cursor.fetchall() if cursor.description else [], cursor.rowcount) for cursor in cursors]

    async def roll_back(self) -> None:
        """End a transaction that is not to be committed."""
        try:
            self.connection.rollback()
        except psycopg.Error:
            self.connection.close()


class LoopLink:
    """A connection used from an event loop."""

    def __init__(self, connection: _LoopConnection, deadline: Deadline) -> None:
        self.connection = connection
        self.deadline = deadline

    async def exchange(self, batch: Sequence[Statement]) -> list[Answer]:
        """Send statements together and return their answers."""
        connection = self.connection
        async with connection.pipeline():
            cursors = [await connection.execute(sql, params, binary=True) for sql, params in batch]
        return [Answer(await cursor.fetchall() if cursor.description else [], cursor.rowcount) for cursor in cursors]

    async def roll_back(self) -> None:
        """End a transaction that is not to be committed."""
        try:
            await self.connection.rollback()
        except psycopg.Error:
            await self.connection.close()


class BlockingPool:
    """A pool for threads."""

    def __init__(self, pools: Pools) -> None:
        self._deadlines = pools.deadlines
        self.pool = psycopg_pool.ConnectionPool(
            pools.conninfo, connection_class=_BlockingConnection, open=True, name="perdure", **pools.options
        )

    async def take(self) -> BlockingLink:
        """Return a connection that is alive."""
        for _ in range(_TRIES):
            try:
                connection = self.pool.getconn()
            except psycopg_pool.PoolClosed:
                raise closed() from None
            except (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests) as error:
                raise exhausted(self.pool, error) from error
            if alive(connection):
                deadline = self._deadlines.start(connection.pgconn.socket)
                with suppress(psycopg.Error):
                    if _is_quiet(connection):
                        connection.execute("")
                    return BlockingLink(connection, deadline)
                self._deadlines.finish(deadline)
            connection.close()
            self.pool.putconn(connection)
        raise unreachable()

    async def give(self, link: BlockingLink) -> None:
        """Take a connection back."""
        self._deadlines.finish(link.deadline)
        link.connection.used = time.monotonic()
        self.pool.putconn(link.connection)


class LoopPool:
    """A pool for one event loop."""

    def __init__(self, pools: Pools) -> None:
        self._deadlines = pools.deadlines
        self._seen: weakref.WeakSet[_LoopConnection] = weakref.WeakSet()
        self._opened = False
        self.loop = asyncio.get_running_loop()
        self.pool = psycopg_pool.AsyncConnectionPool(
            pools.conninfo,
            connection_class=_LoopConnection,
            open=False,
            configure=self._see,
            name="perdure",
            **pools.options,
        )

    async def _see(self, connection: _LoopConnection) -> None:
        self._seen.add(connection)

    async def take(self) -> LoopLink:
        """Return a connection that is alive."""
        if not self._opened:
            self._opened = True
            await self.pool.open()
        for _ in range(_TRIES):
            try:
                connection = await self.pool.getconn()
            except psycopg_pool.PoolClosed:
                raise closed() from None
            except (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests) as error:
                raise exhausted(self.pool, error) from error
            if alive(connection):
                deadline = self._deadlines.start(connection.pgconn.socket)
                with suppress(psycopg.Error):
                    if _is_quiet(connection):
                        await connection.execute("")
                    return LoopLink(connection, deadline)
                self._deadlines.finish(deadline)
            await connection.close()
            await self.pool.putconn(connection)
        raise unreachable()

    async def give(self, link: LoopLink) -> None:
        """Take a connection back."""
        self._deadlines.finish(link.deadline)
        link.connection.used = time.monotonic()
        await self.pool.putconn(link.connection)

    def abandon(self) -> None:
        """Close the connections of a loop that nobody runs any more."""
        for connection in list(self._seen):
            connection.pgconn.finish()

    async def close(self) -> None:
        """Close the pool, in its own loop."""
        await self.pool.close(_LAST)


class Pools:
    """The pools of one database. `options` are those of psycopg_pool's pools."""

    def __init__(self, conninfo: str, options: Mapping[str, Any], seconds: float) -> None:
        self.conninfo = conninfo
        self.options = {**_OURS, **options}
        self.deadlines = Deadlines(seconds)
        self._lock = threading.Lock()
        self._closed = False
        self._blocking: BlockingPool | None = None
        self._of_loops: dict[int, LoopPool] = {}

    def blocking(self) -> BlockingPool:
        """Return the pool for threads."""
        found = self._blocking
        if found is None or self._closed:
            with self._lock:
                self._refuse_closed()
                found = self._blocking = self._blocking or BlockingPool(self)
        return found

    def here(self) -> LoopPool:
        """Return the pool for the event loop that is running."""
        loop = asyncio.get_running_loop()
        found = self._of_loops.get(id(loop))
        if found is None or found.loop is not loop or self._closed:
            with self._lock:
                self._refuse_closed()
                self._leave_closed_loops()
                found = self._of_loops.setdefault(id(loop), LoopPool(self))
        return found

    def _refuse_closed(self) -> None:
        if self._closed:
            raise closed()

    def _leave_closed_loops(self) -> None:
        for key, pool in list(self._of_loops.items()):
            if pool.loop.is_closed():
                pool.abandon()
                del self._of_loops[key]

    def state(self) -> dict[str, dict[str, int]]:
        """Return psycopg_pool's figures for each pool."""
        found: dict[str, dict[str, int]] = {}
        if self._blocking is not None:
            found["threads"] = self._blocking.pool.get_stats()
        for number, pool in enumerate(self._of_loops.values(), 1):
            found[f"event loop {number}"] = pool.pool.get_stats()
        return found

    def _end(self) -> tuple[BlockingPool | None, list[LoopPool]]:
        with self._lock:
            self._closed = True
            found = self._blocking, list(self._of_loops.values())
            self._blocking, self._of_loops = None, {}
        return found

    def close(self) -> None:
        """Close every pool, from a thread."""
        blocking, of_loops = self._end()
        for pool in of_loops:
            if pool.loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(pool.close(), pool.loop)
                if pool.loop is not _running():
                    with suppress(TimeoutError):
                        closing.result(_LAST)
            else:
                pool.abandon()
        self._close_blocking(blocking)

    async def aclose(self) -> None:
        """Close every pool, from an event loop."""
        blocking, of_loops = self._end()
        for pool in of_loops:
            if pool.loop is asyncio.get_running_loop():
                await pool.close()
            elif pool.loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(pool.close(), pool.loop))
            else:
                pool.abandon()
        await asyncio.to_thread(self._close_blocking, blocking)

    def _close_blocking(self, pool: BlockingPool | None) -> None:
        if pool is not None:
            pool.pool.close(_LAST)
        self.deadlines.close()


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def closed() -> errors.ClosedError:
    """Return the error for a call after `close`."""
    return errors.ClosedError("this memory was closed; open it again with Memory.open(…)")


def exhausted(pool: Any, error: Exception) -> errors.DatabaseError:
    """Return the error for a call that got no connection: none came free, or none could be made."""
    stats = pool.get_stats()
    if stats.get("pool_size", 0) >= pool.max_size and not stats.get("connections_lost", 0):
        return errors.PoolExhaustedError(
            f"no connection came free: all {pool.max_size} are in use ({error}). Raise pool={{'max_size': …}} or its "
            "'timeout', or let fewer calls run at once."
        )
    return unreachable()


def unreachable() -> errors.DatabaseUnavailableError:
    """Return the error for a server that takes no connection."""
    return errors.DatabaseUnavailableError(
        "the PostgreSQL server could not be reached in time; check that it runs and takes more connections: "
        "'perdure doctor --db …' tries one"
    )
