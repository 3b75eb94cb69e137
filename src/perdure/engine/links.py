"""Links: one connection of either calling style, as a transaction uses it."""

from __future__ import annotations

import asyncio
import select
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import psycopg
from psycopg.pq import ConnStatus, TransactionStatus

from perdure.engine import Row
from perdure.engine.deadlines import Deadline
from perdure.engine.pipelines import Answer, Pipeline, Statement

__all__ = [
    "Answer",
    "BlockingConnection",
    "BlockingLink",
    "Link",
    "LoopConnection",
    "LoopLink",
    "Statement",
    "alive",
    "is_quiet",
]

T = TypeVar("T")
_QUIET = 60.0
"""Seconds without use after which a connection is asked whether it still answers."""


class Link(Protocol):
    """One connection, taken from a pool."""

    deadline: Deadline

    async def exchange(self, batch: Sequence[Statement]) -> list[Answer]:
        """Send statements together and return their answers: one round trip."""

    async def roll_back(self) -> None:
        """End a transaction that is not to be committed; close the connection if that fails."""

    async def compute(self, task: Callable[[], T]) -> T:
        """Run what takes the processor for long; not on an event loop's thread."""


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


def socket_of(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> int:
    """Return the number of a connection's socket, -1 if it is closed."""
    try:
        return connection.pgconn.socket
    except psycopg.Error:
        return -1


class BlockingConnection(psycopg.Connection[Row]):
    """A connection for threads. `used`: when it was made, or given back."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.used = time.monotonic()
        self._ours: Pipeline | None = None

    def pipeline_of(self) -> Pipeline:
        """Return what sends this connection's batches."""
        found = self._ours = self._ours or Pipeline(self)
        return found

    def __del__(self, _: Any = None) -> None:
        """Go back to the pool: a Ctrl-C between two steps may let go of a connection that was taken."""
        pool: Any = getattr(self, "_pool", None)
        if pool is not None and not pool.closed:
            self.pgconn.finish()
            pool.putconn(self)
            self._pool = None
        else:
            super().__del__(warnings.warn)


class LoopConnection(psycopg.AsyncConnection[Row]):
    """A connection for event loops. `used`: when it was made, or given back."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.used = time.monotonic()
        self._ours: Pipeline | None = None

    def pipeline_of(self) -> Pipeline:
        """Return what sends this connection's batches."""
        found = self._ours = self._ours or Pipeline(self)
        return found

    @classmethod
    async def connect(cls, *given: Any, **options: Any) -> Self:
        """Connect; if that is cancelled, nothing of it is left in the error's frames, which a log may keep."""
        try:
            return await super().connect(*given, **options)
        except asyncio.CancelledError as error:
            traceback.clear_frames(error.__traceback__)
            raise


def is_quiet(connection: BlockingConnection | LoopConnection) -> bool:
    """Tell whether a connection was not used for so long that something on the way may have dropped it."""
    return time.monotonic() - connection.used > _QUIET


class BlockingLink:
    """A connection used from a thread."""

    def __init__(self, connection: BlockingConnection, deadline: Deadline) -> None:
        self.connection = connection
        self.deadline = deadline

    async def exchange(self, batch: Sequence[Statement]) -> list[Answer]:
        """Send statements together and return their answers."""
        pipeline = self.connection.pipeline_of()
        return pipeline.answers(self.connection.wait(pipeline.exchange(batch)))

    async def compute(self, task: Callable[[], T]) -> T:
        """Run a task here."""
        return task()

    async def roll_back(self) -> None:
        """End a transaction that is not to be committed."""
        try:
            self.connection.rollback()
        except psycopg.Error:
            self.connection.close()


class LoopLink:
    """A connection used from an event loop."""

    def __init__(self, connection: LoopConnection, deadline: Deadline) -> None:
        self.connection = connection
        self.deadline = deadline

    async def exchange(self, batch: Sequence[Statement]) -> list[Answer]:
        """Send statements together and return their answers."""
        pipeline = self.connection.pipeline_of()
        return pipeline.answers(await self.connection.wait(pipeline.exchange(batch)))

    async def compute(self, task: Callable[[], T]) -> T:
        """Run a task in a thread, so that the loop goes on."""
        return await asyncio.to_thread(task)

    async def roll_back(self) -> None:
        """End a transaction that is not to be committed."""
        try:
            await self.connection.rollback()
        except psycopg.Error:
            await self.connection.close()
