"""The embedded engine: SQLite through apsw, in a file or in memory.

One writer connection with group commit, a few reader connections, and the same rules for every
process that has the file open. No other SQLite library may open the file in this process: its
close would drop this one's locks.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import apsw

from perdure import errors
from perdure.engine import Params, Row, Work, drive, files, migrate, statements
from perdure.engine.writer import Job, Writer

__all__ = ["SqliteEngine"]

T = TypeVar("T")
_READERS = 4
_engines: weakref.WeakSet[SqliteEngine] = weakref.WeakSet()
_abandoned: list[object] = []


class SqliteTx:
    """A transaction of one connection."""

    __slots__ = ("_connection", "_sql")

    def __init__(self, connection: apsw.Connection, sql: dict[str, str]) -> None:
        self._connection = connection
        self._sql = sql

    async def all(self, name: str, /, **params: object) -> list[Row]:
        """Run a named statement and return every row."""
        return self._connection.execute(self._sql[name], params).fetchall()

    async def one(self, name: str, /, **params: object) -> Row | None:
        """Run a named statement and return its first row, or None."""
        return self._connection.execute(self._sql[name], params).fetchone()

    async def run(self, name: str, /, **params: object) -> int:
        """Run a named statement and return the number of rows it changed."""
        before = self._connection.total_changes()
        self._connection.execute(self._sql[name], params)
        return int(self._connection.total_changes() - before)

    async def many(self, name: str, rows: Sequence[Params], /) -> None:
        """Run a named statement once for each set of parameters."""
        if rows:
            self._connection.executemany(self._sql[name], rows)


class SqliteEngine:
    """SQLite, as an `Engine`."""

    kind = "sqlite"

    def __init__(self, url: str, *, create: bool = True) -> None:
        self.place = files.parse(url)
        self.url = url
        self._sql = statements.load("sqlite")
        self._closed = False
        version = files.inspect(self.place)
        migrate.refuse_newer("sqlite", version, str(self.place.path))
        if version is None and not create:
            msg = f"{url}: nothing is set up here, and create=False was given; run 'perdure setup --db {url}'"
            raise errors.NotSetUpError(msg)
        self._connection = files.connect(self.place, create=create)
        self._start()
        self._prepare()
        _engines.add(self)

    def _start(self) -> None:
        self._writer = Writer(self._commit, str(self.place.path or "memory"))
        self._idle: list[apsw.Connection] = []
        self._slots = threading.Semaphore(_READERS)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_lock = threading.Lock()

    def _prepare(self) -> None:
        try:
            self.applied = self.setup()
        except BaseException:
            self._connection.close()
            raise

    def setup(self) -> list[str]:
        """Apply the migrations that are missing and return their names."""
        with self._database_errors():
            return migrate.apply_sqlite(self._connection, self.place)

    # Writing

    def write(self, work: Work[T]) -> T:
        """Run `work` and return once its effects are on disk."""
        value: T = self._writer.run(Job(work))
        return value

    async def awrite(self, work: Work[T]) -> T:
        """Do what `write` does without blocking the event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._writer.send(Job(work, (loop, future)))
        return await future

    def _commit(self, batch: list[Job]) -> None:
        """Run a batch in one transaction. A job whose work raises is undone alone."""
        try:
            with self._database_errors():
                self._transact(batch)
        except Exception as error:  # noqa: BLE001 - the edge: whatever failed is each caller's to see
            for job in batch:
                job.settle(None, error)

    def _transact(self, batch: list[Job]) -> None:
        connection = self._connection
        tx = SqliteTx(connection, self._sql)
        connection.execute("BEGIN IMMEDIATE")
        try:
            outcomes = [_alone(tx, batch[0])] if len(batch) == 1 else [_saved(connection, tx, job) for job in batch]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        for job, (value, error) in zip(batch, outcomes, strict=True):
            job.settle(value, error)

    # Reading

    def read(self, work: Work[T]) -> T:
        """Run `work` in a read-only transaction that sees one moment of the database."""
        if self.place.path is None:
            return self.write(work)
        with self._reader() as connection, self._database_errors():
            connection.execute("BEGIN")
            try:
                return drive(work(SqliteTx(connection, self._sql)))
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    async def aread(self, work: Work[T]) -> T:
        """Do what `read` does without blocking the event loop."""
        if self.place.path is None:
            return await self.awrite(work)
        return await asyncio.get_running_loop().run_in_executor(self._threads(), self.read, work)

    @contextmanager
    def _reader(self) -> Iterator[apsw.Connection]:
        if self._closed:
            msg = "this memory was closed; open another one with Memory.open(url)"
            raise errors.ClosedError(msg)
        with self._slots:
            connection = self._idle.pop() if self._idle else self._open_reader()
            try:
                yield connection
            finally:
                if self._closed:
                    connection.close()
                else:
                    self._idle.append(connection)

    def _open_reader(self) -> apsw.Connection:
        connection = files.connect(self.place, create=False)
        connection.execute("PRAGMA query_only=1")
        return connection

    def _threads(self) -> ThreadPoolExecutor:
        with self._pool_lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="perdure-reader")
            return self._pool

    # Life

    def check(self) -> list[tuple[str, bool, str]]:
        """Return (what, whether it is right, what was seen or what to do)."""
        connection = self._connection
        wanted = {"journal_mode": "memory" if self.place.path is None else "wal", **files.PRAGMAS}
        found = [(f"pragma {name}", connection.pragma(name) == value, str(connection.pragma(name))) for name, value in wanted.items()]
        damage = self.write(_quick_check)
        return [
            ("SQLite library", True, f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"),
            *found,
            ("file is sound", damage == "ok", str(damage)),
            ("migrations", True, str(connection.pragma("user_version"))),
        ]

    def close(self) -> None:
        """Close every connection; later calls raise ClosedError."""
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        while self._idle:
            self._idle.pop().close()
        self._connection.close()

    def reopen_after_fork(self) -> None:
        """Give a forked child connections of its own; the parent's are left alone, not closed."""
        if self._closed:
            return
        if self.place.path is None:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        else:
            _abandoned.extend([self._connection, *self._idle])
            self._connection = files.connect(self.place, create=False)
        self._start()

    @contextmanager
    def _database_errors(self) -> Iterator[None]:
        """Turn the library's errors into ours; what the disk or another process did is named."""
        try:
            yield
        except apsw.BusyError as error:
            raise files.locked(self.place) from error
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise files.damaged(self.place, error) from error
        except (apsw.IOError, apsw.FullError, apsw.ReadOnlyError, apsw.CantOpenError) as error:
            raise files.unavailable(self.place, error) from error
        except apsw.ConnectionClosedError as error:
            msg = "this memory was closed; open another one with Memory.open(url)"
            raise errors.ClosedError(msg) from error
        except apsw.Error as error:
            msg = f"{self.url}: SQLite refused a statement ({error}); please report this"
            raise errors.DatabaseError(msg) from error


def _alone(tx: SqliteTx, job: Job) -> tuple[Any, BaseException | None]:
    return drive(job.work(tx)), None


def _saved(connection: apsw.Connection, tx: SqliteTx, job: Job) -> tuple[Any, BaseException | None]:
    connection.execute("SAVEPOINT job")
    try:
        value = drive(job.work(tx))
    except Exception as error:  # noqa: BLE001 - one caller's error must not be another's
        if not connection.in_transaction:
            raise
        connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")
        return None, error
    connection.execute("RELEASE job")
    return value, None


async def _quick_check(tx: Any) -> object:
    row = await tx.one("quick_check")
    return row[0] if row else "no answer"


def _reopen_all() -> None:
    for engine in list(_engines):
        engine.reopen_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reopen_all)
