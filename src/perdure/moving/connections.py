"""Connections to the databases of stock savers: SQLite through a process of its own, PostgreSQL through psycopg."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from perdure import errors
from perdure.engine import files
from perdure.moving import child

try:
    import psycopg
except ImportError:  # pragma: no cover - the tests have it
    psycopg = None  # type: ignore[assignment]

__all__ = ["Connection", "connect"]

Row = Sequence[Any]


class Connection(Protocol):
    """One connection. Statements have ``?`` for their parameters in either kind of database."""

    kind: str

    def rows(self, sql: str, *params: object) -> list[Row]:
        """Run a statement and return its rows."""

    def many(self, sql: str, rows: Sequence[Row]) -> int:
        """Run a statement for each set of parameters; return how many rows it changed."""

    def columns(self, table: str) -> list[str]:
        """Return the names of a table's columns; none if there is no such table."""

    def begin(self, *, writing: bool) -> None:
        """Begin a transaction; one that only reads sees one moment of the database."""

    def end(self, *, commit: bool) -> None:
        """End the transaction."""

    def setup(self, what: str) -> None:
        """Let the stock ``saver`` or ``store`` make its tables."""

    def close(self) -> None:
        """Close the connection; what is not committed is undone."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class _Closing:
    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SqliteConnection(_Closing):
    """A SQLite file, opened by `child` in another process."""

    kind = "sqlite"

    def __init__(self, path: Path, *, writing: bool) -> None:
        self.path = path
        if not writing and not path.is_file():
            raise errors.DatabaseUnavailableError(f"there is no file {path}; check the path")
        program = [sys.executable, "-P", child.__file__, str(path.absolute()), "rwc" if writing else "ro"]
        self._process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)  # noqa: S603
        try:
            self._answer()
        except errors.PerdureError:
            self.close()
            raise

    def _ask(self, *asked: object) -> Any:
        stdin = self._process.stdin
        try:
            if stdin is not None:
                child.write_frame(stdin, asked)
        except BrokenPipeError:
            raise self._lost() from None
        return self._answer()

    def _answer(self) -> Any:
        stdout = self._process.stdout
        try:
            right, *found = child.read_frame(stdout) if stdout is not None else (False, "", "")
        except EOFError:
            raise self._lost() from None
        if right:
            return found[0]
        if found[0] == "ImportError":
            raise _not_installed(found[1])
        raise errors.DatabaseUnavailableError(f"{self.path}: {found[1]}")

    def _lost(self) -> errors.DatabaseUnavailableError:
        return errors.DatabaseUnavailableError(f"{self.path}: the process that had it open has ended; try again")

    def rows(self, sql: str, *params: object) -> list[Row]:
        found: list[Row] = self._ask("rows", sql, params)
        return found

    def many(self, sql: str, rows: Sequence[Row]) -> int:
        found: int = self._ask("many", sql, rows)
        return found

    def columns(self, table: str) -> list[str]:
        return [name for (name,) in self.rows("SELECT name FROM pragma_table_info(?)", table)]

    def begin(self, *, writing: bool) -> None:
        self.rows("BEGIN IMMEDIATE" if writing else "BEGIN")

    def end(self, *, commit: bool) -> None:
        self.rows("COMMIT" if commit else "ROLLBACK")

    def setup(self, what: str) -> None:
        self._ask("setup", what)

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()


class PostgresConnection(_Closing):
    """A PostgreSQL database; the tables are those that its search path finds."""

    kind = "postgres"

    def __init__(self, url: str) -> None:
        if psycopg is None:
            raise errors.ConfigurationError(
                'PostgreSQL needs a driver that is not installed: pip install "perdure[postgres]"'
            )
        self.url = url
        try:
            self._connection: Any = psycopg.connect(url, autocommit=True)
        except psycopg.Error as error:
            raise errors.DatabaseUnavailableError(f"PostgreSQL can't be reached: {_first_line(error)}") from None

    def rows(self, sql: str, *params: object) -> list[Row]:
        try:
            cursor = self._connection.execute(sql.replace("?", "%s"), params or None)
            found: list[Row] = cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            raise self._failed(error) from None
        return found

    def many(self, sql: str, rows: Sequence[Row]) -> int:
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(sql.replace("?", "%s"), rows)
                changed: int = cursor.rowcount
        except psycopg.Error as error:
            raise self._failed(error) from None
        return changed

    def _failed(self, error: Any) -> errors.PerdureError:
        """Return the error without its detail, which may quote what was stored."""
        said = f"PostgreSQL refused: {error.diag.message_primary or _first_line(error)}"
        return (
            errors.UnsupportedValueError(said) if isinstance(error, psycopg.DataError) else errors.DatabaseError(said)
        )

    def columns(self, table: str) -> list[str]:
        sql = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped"
        return [name for (name,) in self.rows(sql, table)]

    def begin(self, *, writing: bool) -> None:
        self.rows("BEGIN" if writing else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def end(self, *, commit: bool) -> None:
        self.rows("COMMIT" if commit else "ROLLBACK")

    def setup(self, what: str) -> None:
        module, name = {
            "saver": ("langgraph.checkpoint.postgres", "PostgresSaver"),
            "store": ("langgraph.store.postgres", "PostgresStore"),
        }[what]
        try:
            kind = getattr(importlib.import_module(module), name)
        except ImportError:
            raise _not_installed("langgraph-checkpoint-postgres") from None
        try:
            with kind.from_conn_string(self.url) as made:
                made.setup()
        except psycopg.Error as error:
            raise self._failed(error) from None

    def close(self) -> None:
        self._connection.close()


def connect(url: str, *, writing: bool) -> Connection:
    """Open the database of stock savers that a URL names."""
    if url.partition(":")[0] in {"postgres", "postgresql"}:
        return PostgresConnection(url)
    path = files.parse(url).path
    if path is None:
        raise errors.InvalidUrlError(f"{url!r} names no file; write sqlite:///checkpoints.db")
    return SqliteConnection(path, writing=writing)


def _not_installed(package: str) -> errors.ConfigurationError:
    return errors.ConfigurationError(
        f"the stock tables are made by LangGraph's own package, which is not installed: pip install {package}"
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
