"""The reader connections of a SQLite file: a few, opened when they are needed, and the threads async reads run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Lock

import apsw

from perdure.engine import files

__all__ = ["READERS", "Readers", "roll_back"]

READERS = 4
"""Reads of one process that run at the same time."""


class Readers:
    """Lends reader connections. `refuse` raises if the engine takes no calls any more."""

    def __init__(self, place: files.Place, refuse: Callable[[], None]) -> None:
        self._place = place
        self._refuse = refuse
        self.idle: list[apsw.Connection] = []
        self.slots: SimpleQueue[None] = SimpleQueue()
        for _ in range(READERS):
            self.slots.put(None)
        self._held = 0
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def one(self) -> Iterator[apsw.Connection]:
        """Lend a connection; whatever transaction is left on it is rolled back."""
        self._refuse()
        self.slots.get()
        connection: apsw.Connection | None = None
        try:
            self._refuse()
            connection = self._idle_one() or self.open()
            yield connection
        finally:
            try:
                if connection is not None:
                    roll_back(connection)
                    self.idle.append(connection)
            finally:
                self.slots.put(None)

    def _idle_one(self) -> apsw.Connection | None:
        try:
            return self.idle.pop()
        except IndexError:
            return None

    def open(self) -> apsw.Connection:
        """Open a connection that can't write."""
        connection = files.connect(self._place, create=False)
        connection.execute("PRAGMA query_only=1")
        return connection

    def threads(self) -> ThreadPoolExecutor:
        """Return the threads that async reads run on."""
        with self._lock:
            self._refuse()
            if self._pool is None:
                self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="perdure-reader")
            return self._pool

    def end_threads(self) -> None:
        """Let the reads that were handed to threads end."""
        with self._lock:
            pool = self._pool
        if pool is not None:
            pool.shutdown(wait=True)

    def hold(self, timeout: float) -> bool:
        """Keep everybody from reading; whether all who did have ended in time."""
        try:
            while self._held < READERS:
                self.slots.get(timeout=timeout)
                self._held += 1
        except Empty:
            return False
        return True

    def release(self) -> None:
        """Let reads begin again after `hold`."""
        while self._held:
            self._held -= 1
            self.slots.put(None)


def roll_back(connection: apsw.Connection) -> None:
    """End the transaction of a connection, if it is in one."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
