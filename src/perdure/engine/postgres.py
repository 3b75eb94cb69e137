"""The engine for many processes: PostgreSQL through psycopg's pools.

Statements travel in pipelines. What a work posts waits for its next question or its commit, so that a work that asks
nothing is one round trip, transaction and all. Nothing of a call stays in a session: the tenant and the schema are set
for one transaction, so a pooler that shares sessions between transactions may stand in between.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import psycopg

from perdure import errors
from perdure.engine import Finding, Params, Question, Row, Work, drive, failures, figures, forks, servers, statements
from perdure.engine.lanes import Lanes
from perdure.engine.pools import Answer, Link, Pool, Pools, Statement

__all__ = ["PostgresEngine"]

T = TypeVar("T")
_CALL_SECONDS = 30.0
_TOGETHER = 500
"""Rows that one statement takes at most."""
_READ: Statement = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", {})
_WRITE: Statement = ("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", {})
_COMMIT: Statement = ("COMMIT", {})
_abandoned: list[Pools] = []
"""Pools that a fork has copied: their connections are the parent's, and closing them would end its sessions."""


class PostgresTx:
    """A transaction; for a work that only reads, one for each round trip."""

    distant = True
    __slots__ = ("_begun", "_first", "_link", "_queue", "_sql", "_writes", "ended", "measures", "trips")

    def __init__(self, link: Link, first: Statement, *, writes: bool, measures: bool) -> None:
        self.measures = measures
        self._link = link
        self._first = first
        self._writes = writes
        self._sql = statements.numbered()
        self._begun = False
        self._queue: list[Statement] = []
        self.ended = False
        self.trips = 0

    async def all(self, name: str, /, **params: object) -> list[Row]:
        """Run a named statement and return every row."""
        return (await self._ask([(self._sql[name], params)]))[0].rows

    async def one(self, name: str, /, **params: object) -> Row | None:
        """Run a named statement and return its first row, or None."""
        rows = await self.all(name, **params)
        return rows[0] if rows else None

    async def run(self, name: str, /, **params: object) -> int:
        """Run a named statement and return the number of rows it changed."""
        return (await self._ask([(self._sql[name], params)]))[0].changed

    async def together(self, questions: Sequence[Question], /) -> list[list[Row]]:
        """Run several named statements, in one round trip, and return the rows of each."""
        answers = await self._ask([(self._sql[name], params) for name, params in questions])
        return [answer.rows for answer in answers]

    async def post(self, name: str, /, **params: object) -> None:
        """Run a named statement with the next question, or at the end."""
        self._queue.append((self._sql[name], params))

    async def many(self, name: str, rows: Sequence[Params], /) -> None:
        """Post a named statement once for each set of parameters."""
        lists = statements.arrays(f"{name}_many") if len(rows) > 1 else frozenset()
        if lists:
            together, first = self._sql[f"{name}_many"], rows[0]
            for part in (rows[at : at + _TOGETHER] for at in range(0, len(rows), _TOGETHER)):
                self._queue.append((together, {**first, **{key: [row[key] for row in part] for key in lists}}))
        else:
            sql = self._sql[name]
            self._queue.extend((sql, row) for row in rows)

    async def require(self, name: str, /, **params: object) -> None:
        """Post a named statement that has to change a row."""
        self._queue.append((statements.required()[name], params))

    async def compute(self, task: Callable[[], T], /) -> T:
        """Run a task, in a thread if an event loop waits for it."""
        return await self._link.compute(task)

    async def _ask(self, questions: list[Statement]) -> list[Answer]:
        if not self._writes:
            answers = await self._exchange([_READ, self._first, *questions, _COMMIT])
            return answers[2:-1]
        return (await self._exchange([*self._lead(), *questions]))[-len(questions) :]

    def _lead(self) -> list[Statement]:
        """Return what has to go before the next question."""
        lead = [*([] if self._begun else [_WRITE, self._first]), *self._queue]
        self._begun, self._queue = True, []
        return lead

    async def commit(self) -> None:
        """End the transaction with all that was posted; it is on disk when this returns."""
        if self._begun or self._queue:
            lead = self._lead()
            self.ended = True
            await self._exchange([*lead, _COMMIT])

    async def _exchange(self, batch: list[Statement]) -> list[Answer]:
        self.trips += 1
        return await self._link.exchange(batch)


@dataclass(frozen=True, slots=True)
class _Call:
    """What a unit of work runs with: the pool, the moment at which it has ended at the latest, whose rows."""

    pool: Pool
    until: float
    tenant: str | None
    writes: bool


class PostgresEngine:
    """PostgreSQL, as an `Engine`.

    `pool` are options of psycopg_pool's pools, and ``call_timeout``: the seconds after which a call
    whose server doesn't answer ends. `schema` keeps everything in a schema of its own. `walls`: what
    to do about a role that sees every tenant, "warn" or "refuse".
    """

    kind = "postgres"
    lost = False

    def __init__(
        self,
        url: str,
        *,
        create: bool = True,
        schema: str | None = None,
        pool: Mapping[str, Any] | None = None,
        walls: str = "warn",
    ) -> None:
        options = dict(pool or {})
        seconds = options.pop("call_timeout", _CALL_SECONDS)
        self.server = servers.Server(url, schema, options.pop("kwargs", {}))
        self.url = self.server.shown
        self._options = {**options, "kwargs": self.server.kwargs}
        self._seconds = servers.seconds(seconds, "call_timeout")
        self.applied = self.server.prepare(create=create, walls=walls)
        self.trips = 0
        """Round trips so far."""
        self._start()
        forks.watch(self)

    def _start(self) -> None:
        try:
            self._pools = Pools(self.server.conninfo, self._options, self._seconds)
        except (TypeError, ValueError) as error:
            raise errors.ConfigurationError(f"pool=: {error}") from error
        self._lanes = Lanes(self._seconds / 4)
        self._running: set[asyncio.Task[Any]] = set()

    def setup(self) -> list[str]:
        """Apply the migrations that are missing and return their names."""
        self._pools.refuse_closed()
        return self.server.migrate()

    # Running

    def read(self, work: Work[T], *, tenant: str | None) -> T:
        """Run `work`, which changes nothing. What it asks together is answered from one moment of the database."""
        with self._interruptible():
            return drive(self._blocking(work, tenant, writes=False))

    def write(self, work: Work[T], *, tenant: str) -> T:
        """Run `work` in one transaction and return once its effects are on disk."""
        with self._interruptible():
            return drive(self._blocking(work, tenant, writes=True))

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self._pools.renew()
            raise

    async def aread(self, work: Work[T], *, tenant: str | None) -> T:
        """Do what `read` does without blocking the event loop."""
        return await self._sheltered(work, tenant, writes=False)

    async def awrite(self, work: Work[T], *, tenant: str) -> T:
        """Do what `write` does without blocking the event loop."""
        return await self._sheltered(work, tenant, writes=True)

    async def _sheltered(self, work: Work[T], tenant: str | None, *, writes: bool) -> T:
        """Run work that a cancellation of its caller does not reach.

        A caller that is gone leaves a call that ends by itself and a connection that is clean. While it waits for a
        connection, nothing has begun, and it leaves nothing.
        """
        pool = self._pools.here()
        call = _Call(pool, self._pools.until(), tenant, writes)
        link = await pool.take(call.until)
        task = asyncio.get_running_loop().create_task(self._run(call, link, work))
        self._running.add(task)

        def ended(task: asyncio.Task[T]) -> None:
            self._running.discard(task)
            if task.cancelled():
                pool.drop(link)  # by the end of its loop, perhaps before it began
            else:
                task.exception()  # looked at: its caller may be gone

        task.add_done_callback(ended)
        return await asyncio.shield(task)

    async def _blocking(self, work: Work[T], tenant: str | None, *, writes: bool) -> T:
        call = _Call(self._pools.blocking(), self._pools.until(), tenant, writes)
        return await self._run(call, await call.pool.take(call.until), work)

    async def _run(self, call: _Call, link: Link, work: Work[T]) -> T:
        """Run work on a connection; once more on another one if that is safe and may help."""
        found = await self._try(call, link, work)
        if isinstance(found, failures.Failure) and found.again and time.monotonic() < call.until:
            found = await self._try(call, await call.pool.take(call.until), work)
        if isinstance(found, failures.Failure):
            raise found.error
        value: T = found
        return value

    async def _try(self, call: _Call, link: Link, work: Work[T]) -> T | failures.Failure:
        link = await call.pool.sound(link, call.until)
        tx = PostgresTx(link, self.server.first(call.tenant), writes=call.writes, measures=self.server.measures)
        clean = False
        try:
            value = await work(tx)
            if call.writes:
                await tx.commit()
            clean = True
        except psycopg.Error as error:
            return failures.of(error, ended=tx.ended, late=link.deadline.passed, seconds=self._seconds)
        else:
            return value
        finally:
            self.trips += tx.trips
            if not clean:
                await link.roll_back()
            await call.pool.give(link)

    def lane(self, key: tuple[str, str]) -> AbstractContextManager[None]:
        """Return a context in which no other thread of this process writes for the same key."""
        return self._lanes.one(key)

    def alane(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Return a context in which no other task of this loop writes for the same key."""
        return self._lanes.aone(key)

    turn = lane
    aturn = alane

    # Life

    def check(self) -> list[Finding]:
        """Return what `perdure doctor` shows."""
        self._pools.refuse_closed()
        return self.server.check(most=self._options.get("max_size") or servers.MOST)

    def size(self) -> int:
        """Return the bytes of our tables, with their indexes."""
        return self.server.size()

    def figures(self) -> figures.Figures:
        """Return what `perdure inspect` shows."""
        return replace(self.server.figures(), pools=self.pools())

    def pools(self) -> dict[str, dict[str, int]]:
        """Return the figures of the pools, for people who look."""
        return self._pools.state()

    def close(self) -> None:
        """Close every connection; later calls raise ClosedError."""
        self._pools.close()

    async def aclose(self) -> None:
        """Let this loop's calls end, then do what `close` does."""
        loop = asyncio.get_running_loop()
        here = [task for task in list(self._running) if task.get_loop() is loop]
        if here:
            await asyncio.wait(here)
        await self._pools.aclose()

    # Forks

    def before_fork(self) -> None:
        """Do nothing: the child gets connections of its own."""

    def after_fork_in_parent(self, *, lost: bool) -> None:
        """Go on as if nothing had been."""

    def after_fork_in_child(self) -> None:
        """Leave the inherited connections to the parent, and begin anew."""
        _abandoned.append(self._pools)
        self._start()
