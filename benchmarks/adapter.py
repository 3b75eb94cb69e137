"""The standard library's `sqlite3`, as far as the stock savers use it, over an apsw connection.

The stock savers use the standard library's SQLite, which takes no VFS written in Python. Over this
adapter they run on the same slow disk as Perdure. What it does is what `sqlite3` does by default:
a transaction begins with the first statement that changes something, and ends with `commit`; a
locked database is waited for for five seconds. `autocommitting` is for the stock store, which begins its transactions
itself and loads an extension; not every Python's `sqlite3` can. What the adapter costs the stock saver is measured
too: the rows "through the adapter" compare it with plain `sqlite3` on the disk as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

__all__ = ["Connection", "autocommitting", "connect"]

_CHANGES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
_TIMEOUT_MS = 5000


def connect(path: Path, vfs: str | None = None) -> Connection:
    """Open a file, on a VFS of this process if one is named."""
    connection = apsw.Connection(str(path), vfs=vfs)
    connection.set_busy_timeout(_TIMEOUT_MS)
    return Connection(connection)


def autocommitting(path: str) -> Connection:
    """Open a file as `sqlite3.connect(path, isolation_level=None)` does: nothing begins by itself."""
    connection = apsw.Connection(path)
    connection.set_busy_timeout(_TIMEOUT_MS)
    return Connection(connection, begins=False)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except apsw.BusyError as error:
        raise sqlite3.OperationalError("database is locked") from error
    except apsw.SQLError as error:
        raise sqlite3.OperationalError(str(error)) from error


class Cursor:
    """A cursor whose rows are tuples."""

    def __init__(self, connection: apsw.Connection, *, begins: bool) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._begins = begins

    def _begin(self, sql: str) -> None:
        if not self._begins or self._connection.in_transaction:
            return
        if sql.lstrip()[:7].upper().startswith(_CHANGES):
            self._connection.execute("BEGIN")

    def execute(self, sql: str, parameters: Iterable[Any] = ()) -> Cursor:
        """Run one statement."""
        with _errors():
            self._begin(sql)
            self._cursor.execute(sql, tuple(parameters))
        return self

    def executemany(self, sql: str, rows: Iterable[Iterable[Any]]) -> Cursor:
        """Run one statement for each row of parameters."""
        with _errors():
            self._begin(sql)
            self._cursor.executemany(sql, [tuple(row) for row in rows])
        return self

    def executescript(self, sql: str) -> Cursor:
        """Commit, then run several statements."""
        with _errors():
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")
            self._cursor.execute(sql).fetchall()
        return self

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        return self._cursor.fetchone()

    def fetchmany(self, size: int) -> list[Any]:
        """Return at most `size` rows."""
        return [row for _, row in zip(range(size), self._cursor, strict=False)]

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor)

    def close(self) -> None:
        """Close the cursor."""
        self._cursor.close(force=True)


class Connection:
    """A connection, with the methods that the stock savers and aiosqlite call."""

    def __init__(self, connection: apsw.Connection, *, begins: bool = True) -> None:
        self._connection = connection
        self._begins = begins

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    def cursor(self) -> Cursor:
        """Return a new cursor."""
        return Cursor(self._connection, begins=self._begins)

    def execute(self, sql: str, parameters: Iterable[Any] = ()) -> Cursor:
        """Run one statement on a new cursor."""
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, rows: Iterable[Iterable[Any]]) -> Cursor:
        """Run one statement for each row of parameters, on a new cursor."""
        return self.cursor().executemany(sql, rows)

    def executescript(self, sql: str) -> Cursor:
        """Commit, then run several statements on a new cursor."""
        return self.cursor().executescript(sql)

    def commit(self) -> None:
        """End the transaction, if there is one."""
        self._end("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if there is one."""
        self._end("ROLLBACK")

    def _end(self, how: str) -> None:
        if self._connection.in_transaction:
            with _errors():
                self._connection.execute(how)

    def create_function(self, name: str, count: int, function: Callable[..., Any], *, deterministic: bool) -> None:
        """Let statements call a function."""
        self._connection.create_scalar_function(name, function, count, deterministic=deterministic)

    def enable_load_extension(self, enable: bool) -> None:  # noqa: FBT001 - the interface
        """Let extensions be loaded."""
        self._connection.enable_load_extension(enable)

    def load_extension(self, path: str) -> None:
        """Load one."""
        self._connection.load_extension(path)

    def set_trace_callback(self, callback: Callable[[str], None] | None) -> None:
        """Tell the callback every statement."""
        self._connection.set_exec_trace(None if callback is None else lambda _, sql, __: callback(sql) or True)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close(force=True)
