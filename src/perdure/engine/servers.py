"""Servers: where a PostgreSQL database is, how it is set up, and whether its role and settings are right."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import conninfo
from psycopg import sql as text

from perdure import errors
from perdure.engine import Finding, failures, migrate, roles, statements
from perdure.engine.pools import Statement

__all__ = ["Server", "seconds"]

_LOCK = 0x70657264757265
"""The advisory lock that only one process at a time sets a database up under: "perdure"."""
_DEFAULTS = {"connect_timeout": "10", "application_name": "perdure"}
_OLDEST = 140000
_FIRST = {
    (False, False): "SELECT set_config('perdure.tenant', %(tenant)s, true)",
    (False, True): "SELECT set_config('perdure.operator', 'on', true)",
    (True, False): (
        "SELECT set_config('perdure.tenant', %(tenant)s, true), set_config('search_path', %(schema)s, true)"
    ),
    (True, True): "SELECT set_config('perdure.operator', 'on', true), set_config('search_path', %(schema)s, true)",
}
"""What every transaction begins with, by whether there is a schema, and whether it is for every tenant."""


class Server:
    """One database of a server, and the schema in it. `kwargs` go to each connection."""

    def __init__(self, url: str, schema: str | None, kwargs: Mapping[str, Any]) -> None:
        try:
            given = conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            raise errors.InvalidUrlError(
                f"{_hidden(url)!r} is no PostgreSQL URL ({error}): write postgresql://user@host:5432/database"
            ) from None
        if schema is not None and (not schema or "\0" in schema or len(schema.encode()) > 63):
            raise errors.ConfigurationError(f"schema={schema!r}: give it 1 to 63 bytes, without a NUL")
        self.conninfo = conninfo.make_conninfo(**{**_DEFAULTS, **given})  # type: ignore[arg-type]
        self.kwargs = {"autocommit": True, **kwargs}
        self.schema = schema
        self.shown = _hidden(url)
        self._path = None if schema is None else text.Identifier(schema).as_string()

    def first(self, tenant: str | None) -> Statement:
        """Return the first statement of a transaction: whose rows it may see; None: everybody's threads and items."""
        return _FIRST[self.schema is not None, tenant is None], {"tenant": tenant, "schema": self._path}

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Open a connection of its own, in a transaction that sees the schema; commit at the end."""
        try:
            with psycopg.connect(self.conninfo, **{**self.kwargs, "autocommit": False}) as connection:
                if self._path is not None:
                    connection.execute("SELECT set_config('search_path', %s, true)", [self._path])
                yield connection
        except psycopg.OperationalError as error:
            if error.sqlstate is None:
                raise errors.DatabaseUnavailableError(
                    f"{self.shown}: can't connect ({str(error).strip()}); check the address, and that the server runs"
                ) from error
            raise failures.of(error, ended=False, late=False, seconds=0).error from error
        except psycopg.Error as error:
            raise failures.of(error, ended=False, late=False, seconds=0).error from error

    # Setting up

    def prepare(self, *, create: bool, walls: str) -> list[str]:
        """Set a database up if it is new, and look at the role; return the migrations that were applied."""
        with self.connection() as connection:
            self._refuse_unfit(connection)
            missing = self._missing(connection)
        applied: list[str] = []
        if missing:
            if not create and len(missing) == len(statements.migrations("postgres")):
                raise errors.NotSetUpError(
                    f"{self.shown}: nothing is set up here, and create=False was given; "
                    f"run 'perdure setup --db {self.shown}'"
                )
            applied = self.migrate()
        with self.connection() as connection:
            self._judge(connection, walls)
        return applied

    def _refuse_unfit(self, connection: psycopg.Connection[Any]) -> None:
        if connection.info.server_version < _OLDEST:
            raise errors.ConfigurationError(
                f"{self.shown} is PostgreSQL {connection.info.server_version // 10000}; 14 is the oldest"
            )
        row = connection.execute(
            "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"
        ).fetchone()
        if row is None or row[0] != "UTF8":
            raise errors.ConfigurationError(
                f"{self.shown} has the encoding {row[0] if row else None}; make a database with ENCODING 'UTF8'"
            )

    def _missing(self, connection: psycopg.Connection[Any]) -> list[tuple[str, str]]:
        """Return the migrations to apply. Raises ForeignDatabaseError, NewerSchemaError."""
        known = statements.migrations("postgres")
        there = connection.execute(
            "SELECT to_regclass('migrations') IS NOT NULL, to_regclass('checkpoints') IS NOT NULL"
        ).fetchone()
        if there is None or not there[0]:
            if there is not None and there[1]:
                raise errors.ForeignDatabaseError(
                    f"{self.shown} has a table 'checkpoints' that isn't Perdure's (LangGraph's saver?); it "
                    "was left as it is. Pass schema='perdure' to keep ours apart; "
                    "'perdure import langgraph' brings the others over."
                )
            return list(known)
        try:
            names = {name for (name,) in connection.execute("SELECT name FROM migrations").fetchall()}
        except psycopg.errors.UndefinedColumn:
            raise errors.ForeignDatabaseError(
                f"{self.shown} has a table 'migrations' that isn't Perdure's; it was left as it is. "
                "Pass schema='perdure'."
            ) from None
        migrate.refuse_newer("postgres", None if names <= {name for name, _ in known} else len(known) + 1, self.shown)
        return [(name, sql) for name, sql in known if name not in names]

    def migrate(self) -> list[str]:
        """Apply the migrations that are missing, in one transaction, and return their names."""
        with self.connection() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            if self.schema is not None:
                connection.execute(text.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(text.Identifier(self.schema)))
            missing = self._missing(connection)
            for name, sql in missing:
                connection.execute(sql.encode())
                connection.execute(
                    "INSERT INTO migrations (name, checksum, applied_at) VALUES (%s, %s, %s)",
                    (name, hashlib.sha256(sql.encode()).hexdigest(), time.time_ns() // 1000),
                )
        return [name for name, _ in missing]

    def make_role(self, name: str) -> list[str]:
        """Let a role use the tables, and make it if need be; return the SQL that did."""
        with self.connection() as connection:
            return roles.make(connection, name)

    # Looking at it

    def _judge(self, connection: psycopg.Connection[Any], walls: str) -> None:
        role, why = roles.weakness(connection)
        if why is None:
            return
        said = (
            f"{self.shown}: the role {role!r} {why}, so the database's own wall between tenants doesn't hold it. "
            "Let the application use a role of its own: 'perdure setup --role NAME' makes one."
        )
        if walls == "refuse":
            raise errors.UnsafeRoleError(said)
        warnings.warn(said, errors.UnsafeRoleWarning, stacklevel=6)

    def check(self) -> list[Finding]:
        """Return what `perdure doctor` shows."""
        with self.connection() as connection:
            return [("PostgreSQL server", True, str(connection.info.server_version))]


def seconds(value: object, what: str) -> float:
    """Return a number of seconds above 0. Raises ConfigurationError."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
        return float(value)
    raise errors.ConfigurationError(f"pool={{'{what}': …}} must be a number of seconds above 0, not {value!r}")


def _hidden(url: str) -> str:
    """Return a URL without its password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", ":***@")))
