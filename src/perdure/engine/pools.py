"""Pools: psycopg's, blocking and one for each event loop, behind one interface; ours to open, watch and close.

Both kinds have `async` methods, so that what uses them is written once. Those of the blocking kind never suspend.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, Protocol

import psycopg
import psycopg_pool

from perdure.engine import failures, links
from perdure.engine.deadlines import Deadlines
from perdure.engine.links import Answer, Link, Statement

__all__ = ["Answer", "Link", "Pool", "Pools", "Statement"]

_ANSWER = 5.0
"""Seconds that a connection has to answer which was not used for a while."""
_LAST = 5.0
"""Seconds that closing a pool waits for its threads."""
_OURS = {
    "min_size": 0,
    "max_size": 10,
    "timeout": 30.0,
    "max_idle": 300.0,
    "max_lifetime": 3600.0,
    # A pool waits ever longer between two attempts to connect. It gives one up soon, and begins another, see `_again`.
    "reconnect_timeout": 1.0,
}


class Pool(Protocol):
    """Connections for one calling style."""

    async def take(self, until: float) -> Link:
        """Return a connection, alive or not; its deadline runs, and passes at `until` at the latest.

        A caller that is cancelled leaves nothing.
        """

    async def sound(self, link: Any, until: float) -> Link:
        """Return a connection that was taken if it is alive, or else another in its place."""

    async def give(self, link: Any) -> None:
        """Take a connection back, and end its deadline."""


class BlockingPool:
    """A pool for threads."""

    def __init__(self, pools: Pools) -> None:
        self._deadlines = pools.deadlines
        self._out: weakref.WeakSet[links.BlockingConnection] = weakref.WeakSet()
        options = {"reconnect_failed": _again, **pools.options}
        self.pool = psycopg_pool.ConnectionPool(
            pools.conninfo, connection_class=links.BlockingConnection, open=True, name="perdure", **options
        )

    async def take(self, until: float) -> links.BlockingLink:
        """Return a connection, alive or not."""
        try:
            connection = self.pool.getconn(_left(until, self.pool.timeout))
        except psycopg_pool.PoolClosed:
            raise failures.closed() from None
        except (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests) as error:
            raise failures.no_connection(len(self._out), self.pool.max_size, error) from error
        self._out.add(connection)
        left = _left(until, self._deadlines.seconds)
        return links.BlockingLink(connection, self._deadlines.start(links.socket_of(connection), left))

    async def sound(self, link: links.BlockingLink, until: float) -> links.BlockingLink:
        """Return a connection that is alive."""
        while not self._answers(link):
            link.connection.close()
            await self.give(link)
            link = await self.take(until)
        return link

    def _answers(self, link: links.BlockingLink) -> bool:
        if not links.alive(link.connection) or not links.is_quiet(link.connection):
            return links.alive(link.connection)
        with suppress(psycopg.Error), self._deadlines.brief(link.connection.pgconn.socket, _ANSWER):
            link.connection.execute("")
            return True
        return False

    async def give(self, link: links.BlockingLink) -> None:
        """Take a connection back."""
        self._deadlines.finish(link.deadline)
        link.connection.used = time.monotonic()
        self._out.discard(link.connection)
        lost = link.connection.closed
        self.pool.putconn(link.connection)
        if lost:
            link.connection._pool = None  # noqa: SLF001 - the pool has made up for it, and forgets to say so

    def retire(self, longest: float) -> None:
        """Close the pool when nobody uses it any more, or `longest` seconds from now."""
        until = time.monotonic() + longest
        while (self._out or self.pool.get_stats()["requests_waiting"]) and time.monotonic() < until:
            time.sleep(0.05)
        self.pool.close(_LAST)


class LoopPool:
    """A pool for one event loop."""

    def __init__(self, pools: Pools) -> None:
        self._deadlines = pools.deadlines
        self._seen: weakref.WeakSet[links.LoopConnection] = weakref.WeakSet()
        self._out: weakref.WeakSet[links.LoopConnection] = weakref.WeakSet()
        self._leave = pools.leave
        self._guard: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        options = {"reconnect_failed": _aagain, "configure": self._see, **pools.options}
        # Callers wait here, which costs less than waiting inside the pool. One that limits its waiters counts them.
        places = int(options["max_size"] or options["min_size"])
        self._gate = None if options.get("max_waiting") else asyncio.Semaphore(places)
        self.pool = psycopg_pool.AsyncConnectionPool(
            pools.conninfo, connection_class=links.LoopConnection, open=False, name="perdure", **options
        )

    async def _see(self, connection: links.LoopConnection) -> None:
        self._seen.add(connection)

    async def take(self, until: float) -> links.LoopLink:
        """Return a connection, alive or not."""
        ends = time.monotonic() + _left(until, self.pool.timeout)
        try:
            await self._enter(ends)
            connection = await self._connection(ends)
        except psycopg_pool.PoolClosed:
            raise failures.closed() from None
        except (TimeoutError, psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests) as error:
            raise failures.no_connection(len(self._out), self.pool.max_size, error) from error
        self._out.add(connection)
        left = _left(until, self._deadlines.seconds)
        return links.LoopLink(connection, self._deadlines.start(links.socket_of(connection), left))

    async def _enter(self, ends: float) -> None:
        if self._gate is not None:
            if not self._gate.locked():
                await self._gate.acquire()  # at once
                return
            async with asyncio.timeout(ends - time.monotonic()):
                await self._gate.acquire()

    def _leave_gate(self) -> None:
        if self._gate is not None:
            self._gate.release()

    async def _connection(self, ends: float) -> links.LoopConnection:
        try:
            if self._guard is None:
                self._guard = self.loop.create_task(self._guarded(), name="perdure-guard")
                await self.pool.open()  # nothing waits in here, so no other task comes in between
            return await self.pool.getconn(ends - time.monotonic())
        except BaseException:
            self._leave_gate()
            raise

    async def sound(self, link: links.LoopLink, until: float) -> links.LoopLink:
        """Return a connection that is alive."""
        while not await self._answers(link):
            await link.connection.close()
            await self.give(link)
            link = await self.take(until)
        return link

    async def _answers(self, link: links.LoopLink) -> bool:
        if not links.alive(link.connection) or not links.is_quiet(link.connection):
            return links.alive(link.connection)
        with suppress(psycopg.Error), self._deadlines.brief(link.connection.pgconn.socket, _ANSWER):
            await link.connection.execute("")
            return True
        return False

    async def give(self, link: links.LoopLink) -> None:
        """Take a connection back."""
        self._deadlines.finish(link.deadline)
        link.connection.used = time.monotonic()
        self._out.discard(link.connection)
        try:
            await self.pool.putconn(link.connection)
        finally:
            self._leave_gate()

    def drop(self, link: links.LoopLink) -> None:
        """Close a connection that nobody has given back and nobody will."""
        if link.connection in self._out:
            self._deadlines.finish(link.deadline)
            self._out.discard(link.connection)
            link.connection.pgconn.finish()
            self._leave_gate()

    async def _guarded(self) -> None:
        """Close the pool when its loop is about to end, which cancels all tasks.

        A worker of psycopg's pool that is connecting takes no notice of that, and `asyncio.run` would wait for ever.
        """
        try:
            await self._ended.wait()
        except asyncio.CancelledError:
            self._leave(self)
            try:
                await self.pool.close(_LAST)
            finally:
                self._finish(set(self._seen) - set(self._out))
            raise

    def abandon(self) -> None:
        """Close the connections of a loop that nobody runs any more."""
        self._finish(set(self._seen))

    def _finish(self, connections: set[links.LoopConnection]) -> None:
        for connection in connections:
            connection.pgconn.finish()

    async def close(self) -> None:
        """Close the pool, in its own loop."""
        self._ended.set()
        await self.pool.close(_LAST)

    def close_soon(self) -> None:
        """Have the pool closed by its own loop; should that end before, at once."""
        self._closing = self.loop.create_task(self.close())
        self._closing.add_done_callback(lambda task: self.abandon() if task.cancelled() else None)


class Pools:
    """The pools of one database. `options` are those of psycopg_pool's pools."""

    def __init__(self, conninfo: str, options: Mapping[str, Any], seconds: float) -> None:
        self.conninfo = conninfo
        self.options = {**_OURS, **options}
        self.deadlines = Deadlines(seconds)
        self._longest = seconds + float(self.options["timeout"])
        self._lock = threading.Lock()
        self._closed = False
        self._blocking: BlockingPool | None = None
        self._of_loops: dict[int, LoopPool] = {}

    def until(self) -> float:
        """Return the moment at which a call that begins now has ended at the latest."""
        return time.monotonic() + self._longest

    def blocking(self) -> BlockingPool:
        """Return the pool for threads."""
        found = self._blocking
        if found is None or self._closed:
            with self._lock:
                self.refuse_closed()
                found = self._blocking = self._blocking or BlockingPool(self)
        return found

    def renew(self) -> None:
        """Give threads a new pool: a Ctrl-C in the middle of a step of psycopg's may have lost the old one a place.

        The old one serves those who wait for it, and is then closed.
        """
        with self._lock:
            old, self._blocking = self._blocking, None
        if old is not None:
            threading.Thread(target=old.retire, args=(self._longest,), name="perdure-retire", daemon=True).start()

    def here(self) -> LoopPool:
        """Return the pool for the event loop that is running."""
        loop = asyncio.get_running_loop()
        found = self._of_loops.get(id(loop))
        if found is None or found.loop is not loop or self._closed:
            with self._lock:
                self.refuse_closed()
                self._leave_closed_loops()
                found = self._of_loops.setdefault(id(loop), LoopPool(self))
        return found

    def refuse_closed(self) -> None:
        """Raise ClosedError after `close`."""
        if self._closed:
            raise failures.closed()

    def leave(self, pool: LoopPool) -> None:
        """Forget the pool of a loop that is about to end."""
        with self._lock:
            if self._of_loops.get(id(pool.loop)) is pool:
                del self._of_loops[id(pool.loop)]

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
            if pool.loop is _running():
                pool.close_soon()
            elif pool.loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(pool.close(), pool.loop)
                with suppress(TimeoutError, CancelledError):
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
                closing = asyncio.run_coroutine_threadsafe(pool.close(), pool.loop)
                await asyncio.wait([asyncio.wrap_future(closing)], timeout=_LAST)
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


def _left(until: float, most: float) -> float:
    return min(most, until - time.monotonic())


def _again(pool: psycopg_pool.ConnectionPool[Any]) -> None:
    """Begin another attempt to connect if somebody waits for one."""
    if pool.get_stats()["requests_waiting"]:
        pool.check()


async def _aagain(pool: psycopg_pool.AsyncConnectionPool[Any]) -> None:
    if pool.get_stats()["requests_waiting"]:
        await pool.check()
