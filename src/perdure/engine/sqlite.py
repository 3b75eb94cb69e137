"""The embedded engine: SQLite through apsw, in a file or in memory.

One writer connection with group commit, a few reader connections, and the same rules for every
process that has the file open. No other SQLite library may open the file in this process: its
close would drop this one's locks.
"""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

import apsw

from perdure import errors
from perdure.engine import (
    Finding,
    OutdatedError,
    Params,
    Question,
    Row,
    Work,
    drive,
    figures,
    file_checks,
    files,
    forks,
    migrate,
    statements,
)
from perdure.engine.lanes import Lanes
from perdure.engine.readers import Readers, roll_back
from perdure.engine.writer import Job, Writer, closed

__all__ = ["SqliteEngine"]

T = TypeVar("T")
Outcome = tuple[Any, BaseException | None]
_PATIENCE = 7.5
"""Seconds that somebody waits for a turn before going on beside the others."""
_LONGEST_PAUSE = 30.0
"""Seconds that a fork or `close` waits for transactions to end."""
_abandoned: list[apsw.Connection] = []
"""Connections that must not even be closed: a fork caught them in the middle of something."""


class SqliteTx:
    """A transaction of one connection."""

    distant = False
    measures = False
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
        self._connection.execute(self._sql[name], params)
        return self._connection.changes()  # without those of triggers

    async def together(self, questions: Sequence[Question], /) -> list[list[Row]]:
        """Run several named statements and return the rows of each."""
        return [self._connection.execute(self._sql[name], params).fetchall() for name, params in questions]

    async def post(self, name: str, /, **params: object) -> None:
        """Run a named statement."""
        self._connection.execute(self._sql[name], params)

    async def many(self, name: str, rows: Sequence[Params], /) -> None:
        """Run a named statement once for each set of parameters."""
        if rows:
            self._connection.executemany(self._sql[name], rows)

    async def require(self, name: str, /, **params: object) -> None:
        """Run a named statement. Raises OutdatedError if it changed no row."""
        if not await self.run(name, **params):
            raise OutdatedError

    async def compute(self, task: Callable[[], T], /) -> T:
        """Run a task here: transactions have threads of their own."""
        return task()


class SqliteEngine:
    """SQLite, as an `Engine`."""

    kind = "sqlite"

    def __init__(self, url: str, *, create: bool = True) -> None:
        place = files.parse(url)
        # Readers are opened when they are needed, and the program may have changed its folder by then.
        self.place = place if place.path is None else replace(place, path=place.path.absolute())
        self.url = url
        self._sql = statements.load("sqlite")
        self._closed = False
        self._closing = threading.Lock()
        self.lost = False
        version = files.inspect(self.place)
        migrate.refuse_newer("sqlite", version, str(self.place.path))
        if version is None and not create:
            msg = f"{url}: nothing is set up here, and create=False was given; run 'perdure setup --db {url}'"
            raise errors.NotSetUpError(msg)
        self._connection: apsw.Connection | None = files.connect(self.place, create=create)
        self._start()
        self._prepare(self._connection)
        forks.watch(self)

    def _start(self) -> None:
        self._writer = Writer(self._commit, str(self.place.path or "memory"))
        self._held: Job | None = None
        self._turns = Lanes(_PATIENCE)
        self._readers = Readers(self.place, self._refuse_closed)

    def _prepare(self, connection: apsw.Connection) -> None:
        try:
            with files.named_errors(self.place):
                self.applied = migrate.apply_sqlite(connection, self.place)
        except BaseException:
            connection.close()
            raise

    def setup(self) -> list[str]:
        """Apply the migrations that are missing and return their names."""
        self._refuse_closed()
        if self.place.path is None:
            return []
        # Not on the writer's connection: somebody may be in the middle of a transaction there.
        with self._own_connection() as connection, files.named_errors(self.place):
            return migrate.apply_sqlite(connection, self.place)

    # Writing

    def write(self, work: Work[T], *, tenant: str | None = None) -> T:  # noqa: ARG002 - the statements name it
        """Run `work` and return once its effects are on disk."""
        value: T = self._writer.run(Job(work))
        return value

    async def awrite(self, work: Work[T], *, tenant: str | None = None) -> T:  # noqa: ARG002 - as above
        """Do what `write` does without blocking the event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._writer.send(Job(work, (loop, future)))
        return await future

    def _commit(self, batch: list[Job]) -> None:
        """Run a batch in one transaction. A job whose work raises is undone alone.

        In memory a commit costs nothing, and reads run here as well: they must not see, and let the
        process remember, what is not committed yet. There each job has its own transaction.
        """
        if self.place.path is None:
            for job in batch:
                self._try([job])
        else:
            self._try(batch)

    def _try(self, batch: list[Job]) -> None:
        try:
            with files.named_errors(self.place):
                self._transact(batch)
        except Exception as error:  # noqa: BLE001 - the edge: whatever failed is each caller's to see
            for job in batch:
                # Raised in several threads at once, one error would collect the traces of all.
                job.settle(None, _own(error) if len(batch) > 1 else error)

    def _transact(self, batch: list[Job]) -> None:
        connection = self._for_writing()
        tx = SqliteTx(connection, self._sql)
        outcomes: list[Outcome] = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            if len(batch) == 1:
                outcomes.append((drive(batch[0].work(tx)), None))
            else:
                outcomes.extend(self._saved(connection, tx, job) for job in batch)
            connection.execute("COMMIT")
        except apsw.Error:
            roll_back(connection)
            raise
        except BaseException:
            # A Ctrl-C that comes while COMMIT runs is raised after it: what was committed stays so.
            if len(outcomes) == len(batch) and not connection.in_transaction:
                _settle(batch, outcomes)
            roll_back(connection)
            raise
        _settle(batch, outcomes)

    def _for_writing(self) -> apsw.Connection:
        connection = self._connection
        if connection is None:
            if self.lost:
                raise _lost(self.place)
            connection = self._connection = files.connect(self.place, create=False)
        roll_back(connection)  # nothing, unless a Ctrl-C prevented it when it was due
        return connection

    def _saved(self, connection: apsw.Connection, tx: SqliteTx, job: Job) -> Outcome:
        """Run one job of several; its error must not be another's."""
        connection.execute("SAVEPOINT job")
        try:
            with files.named_errors(self.place):
                value = drive(job.work(tx))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
            return None, error
        connection.execute("RELEASE job")
        return value, None

    # Reading

    def read(self, work: Work[T], *, tenant: str | None = None) -> T:  # noqa: ARG002 - as above
        """Run `work` in a read-only transaction that sees one moment of the database."""
        if self.place.path is None:
            return self.write(work)
        with self._readers.one() as connection, files.named_errors(self.place):
            connection.execute("BEGIN")
            return drive(work(SqliteTx(connection, self._sql)))

    async def aread(self, work: Work[T], *, tenant: str | None = None) -> T:  # noqa: ARG002 - as above
        """Do what `read` does without blocking the event loop."""
        if self.place.path is None:
            return await self.awrite(work)
        try:
            answer = asyncio.get_running_loop().run_in_executor(self._readers.threads(), self.read, work)
        except RuntimeError:
            self._refuse_closed()  # closed since the threads were asked for
            raise
        return await answer

    def lane(self, key: tuple[str, str]) -> AbstractContextManager[None]:  # noqa: ARG002 - the writer is one lane
        """Return a context that does nothing: one job at a time is written anyway."""
        return nullcontext()

    def alane(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:  # noqa: ARG002 - as above
        """Return a context that does nothing."""
        return nullcontext()

    def turn(self, key: tuple[str, str]) -> AbstractContextManager[None]:
        """Return a context in which no other thread of this process changes the same key."""
        return self._turns.one(key)

    def aturn(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Return a context in which no other task of this loop changes the same key."""
        return self._turns.aone(key)

    @contextmanager
    def _own_connection(self) -> Iterator[apsw.Connection]:
        connection = files.connect(self.place, create=False)
        try:
            yield connection
        finally:
            connection.close()

    # Life

    def check(self) -> list[Finding]:
        """Return what `perdure doctor` shows."""
        self._refuse_closed()
        return self.write(lambda tx: _look(tx, file_checks.findings, self.place))

    def size(self) -> int:
        """Return the bytes of the file with its log."""
        return self.read(lambda tx: _look(tx, file_checks.size, self.place))

    def figures(self) -> figures.Figures:
        """Return what `perdure inspect` shows."""
        return self.read(lambda tx: _look(tx, file_checks.figures_of, self.place))

    def _refuse_closed(self) -> None:
        if self._closed:
            raise closed()
        if self.lost:
            raise _lost(self.place)

    def close(self) -> None:
        """Serve those in line, then close every connection; later calls raise ClosedError."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._writer.close()
        self._readers.end_threads()
        self._readers.hold(_LONGEST_PAUSE)
        for connection in (*self._readers.idle, self._connection):
            if connection is not None:
                connection.close()
        self._readers.idle.clear()
        self._readers.release()

    async def aclose(self) -> None:
        """Do what `close` does without blocking the event loop."""
        await asyncio.to_thread(self.close)

    # Forks

    def before_fork(self) -> None:
        """Let every transaction end, and begin none: a lock that is held in the middle stays locked in the child."""
        if self._closed:
            return
        try:
            self._held = self._writer.hold(_LONGEST_PAUSE)
        except errors.ClosedError:
            return
        self.lost = self.lost or not (self._readers.hold(_LONGEST_PAUSE) and self._held)

    def after_fork_in_parent(self, *, lost: bool) -> None:
        """Go on as if nothing had been."""
        self.lost = lost
        self._readers.release()
        if self._held is not None:
            self._writer.release(self._held)
            self._held = None

    def after_fork_in_child(self) -> None:
        """Give a forked child connections of its own.

        SQLite remembers per process and file which locks it holds, and the child holds none of them. So the
        inherited connections are closed, all of them, before another one is opened. That leaves the parent's
        locks alone, and the file too: without this setting the last one to close would empty the log.
        """
        if self._closed:
            return
        inherited = [connection for connection in (*self._readers.idle, self._connection) if connection is not None]
        if self.lost:
            _abandoned.extend(inherited)
            self._connection = None
        elif self.place.path is not None:
            for connection in inherited:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close()
            self._connection = None
        self._start()


async def _look(tx: Any, look: Callable[[apsw.Connection, files.Place], T], place: files.Place) -> T:
    return look(tx._connection, place)  # noqa: SLF001 - this module's own


def _settle(batch: list[Job], outcomes: list[Outcome]) -> None:
    for job, (value, error) in zip(batch, outcomes, strict=True):
        job.settle(value, error)


def _own(error: Exception) -> Exception:
    own = copy.copy(error)
    own.__cause__ = error.__cause__
    return own


def _lost(place: files.Place) -> errors.DatabaseUnavailableError:
    return errors.DatabaseUnavailableError(
        f"{place.url}: this process was forked while the database was in use for over {_LONGEST_PAUSE:g} s, so it "
        "can't be used here. Fork when the memory is idle, or start processes with 'spawn'."
    )
