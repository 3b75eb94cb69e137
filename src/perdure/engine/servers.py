"""Servers: where a PostgreSQL database is, how it is set up, and whether its role and settings are right."""

from __future__ import annotations

import inspect
import math
import shlex
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import conninfo

from perdure import errors
from perdure.engine import (
    Finding,
    OutdatedError,
    failures,
    figures,
    migrate,
    roles,
    server_checks,
    server_figures,
    statements,
    urls,
)
from perdure.engine.pools import Statement

__all__ = ["MOST", "Server", "seconds"]

_LOCK = 0x70657264757265
"""The advisory lock that only one process at a time sets a database up under: "perdure"."""
_DEFAULTS = {"connect_timeout": "10", "application_name": "perdure"}
_PATIENTLY = "SELECT set_config('lock_timeout', '60s', true), set_config('statement_timeout', '0', true)"
MOST = 10
"""Connections that a pool may take if nothing else is said."""
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
        self.shown = urls.hidden(url)
        self.conninfo = conninfo.make_conninfo(**{**_DEFAULTS, **_parsed(url)})
        self.kwargs = {"autocommit": True, **kwargs}
        self.schema = schema
        self._path = None if schema is None else statements.quoted(schema, "a schema")
        self._visible = self._path
        self.measures = False
        """Whether pgvector is installed, so that the server measures distances."""
        self.command = shlex.join(["perdure", "setup", "--db", self.shown, *(["--schema", schema] if schema else [])])
        """What a person runs to set it up."""

    def granting(self, role: str) -> str:
        """Return what a person runs to let a role use it."""
        return f"{self.command} --role {shlex.quote(role)}"

    def first(self, tenant: str | None) -> Statement:
        """Return the first statement of a transaction: whose rows it may see; None: everybody's threads and items."""
        return _FIRST[self.schema is not None, tenant is None], {"tenant": tenant, "schema": self._visible}

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Open a connection of its own, in a transaction that sees the schema; commit at the end."""
        try:
            with psycopg.connect(self.conninfo, **{**self.kwargs, "autocommit": False}) as connection:
                if self._path is not None:
                    connection.execute("SELECT set_config('search_path', %s, true)", [self._visible])
                yield connection
        except psycopg.OperationalError as error:
            if error.sqlstate is None:
                said = " ".join(str(error).split())
                raise errors.DatabaseUnavailableError(
                    f"{self.shown}: can't connect ({said}); check the address, and that the server runs"
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
                    f"{self.shown}: nothing is set up here, and create=False was given; run: {self.command}"
                )
            applied = self.migrate()
        with self.connection() as connection:
            self._judge(connection, walls)
            self._find_pgvector(connection)
        return applied

    def _find_pgvector(self, connection: psycopg.Connection[Any]) -> None:
        """Look for pgvector, and let transactions see the schema that it is in."""
        row = connection.execute(
            "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE e.extname = 'vector'"
        ).fetchone()
        if row is not None and self._path is not None:
            self._visible = f"{self._path}, {statements.quoted(row[0], 'a schema')}"
            connection.execute("SELECT set_config('search_path', %s, true)", [self._visible])
        found = connection.execute("SELECT to_regtype('vector') IS NOT NULL").fetchone()
        self.measures = bool(row and found and found[0])

    def _refuse_unfit(self, connection: psycopg.Connection[Any]) -> None:
        if connection.info.server_version < server_checks.OLDEST * 10000:
            raise errors.ConfigurationError(
                f"{self.shown} is PostgreSQL {connection.info.server_version // 10000}; "
                f"{server_checks.OLDEST} is the oldest that works"
            )
        row = connection.execute(
            "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"
        ).fetchone()
        if row is None or row[0] != "UTF8":
            raise errors.ConfigurationError(
                f"{self.shown} has the encoding {row[0] if row else None}; make a database with ENCODING 'UTF8'"
            )

    def _missing(self, connection: psycopg.Connection[Any]) -> list[tuple[str, str]]:
        """Return the migrations to apply. Raises ForeignDatabaseError, NewerSchemaError, PrivilegeError."""
        known = statements.migrations("postgres")
        self._refuse_hidden(connection)
        there = connection.execute(
            "SELECT n FROM unnest(%s::text[]) n WHERE to_regclass(n) IS NOT NULL", [["migrations", *roles.TABLES]]
        ).fetchall()
        if ("migrations",) not in there:
            if there:
                raise self._foreign(there[0][0])
            return list(known)
        names = self._applied(connection)
        refuse = None if names <= {name for name, _ in known} else len(known) + 1
        migrate.refuse_newer("postgres", refuse, self.shown)
        return [(name, sql) for name, sql in known if name not in names]

    def _refuse_hidden(self, connection: psycopg.Connection[Any]) -> None:
        """Refuse a schema that is there and that the role may not use: it would look like an empty one."""
        if self.schema is None:
            return
        row = connection.execute(
            "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = %s", [self.schema]
        ).fetchone()
        if row is not None and not row[0]:
            raise errors.PrivilegeError(
                f"{self.shown}: the role {connection.info.user!r} may not use the schema {self.schema!r}. "
                f"As its owner, run: {self.granting(connection.info.user)}"
            )

    def _applied(self, connection: psycopg.Connection[Any]) -> set[str]:
        """Return the names of the migrations that a database has had."""
        try:
            names = {name for name, _, _ in server_figures.applied(connection)}
        except psycopg.errors.UndefinedColumn:
            raise self._foreign("migrations") from None
        except psycopg.errors.InsufficientPrivilege:
            raise errors.PrivilegeError(
                f"{self.shown}: the role {connection.info.user!r} may not read Perdure's tables. "
                f"As their owner, run: {self.granting(connection.info.user)}"
            ) from None
        if not names & set(migrate.names("postgres")):
            raise self._foreign("migrations")
        return names

    def _foreign(self, table: str) -> errors.ForeignDatabaseError:
        theirs = table in {"checkpoints", "writes"}
        return errors.ForeignDatabaseError(
            f"{self.shown} has a table {table!r} that isn't Perdure's{' (LangGraph saver?)' * theirs}; "
            "it was left as it is. Pass schema='perdure' to keep ours apart (--schema perdure on the command line)."
        )

    def migrate(self) -> list[str]:
        """Apply the migrations that are missing, in one transaction, and return their names."""
        missing: list[tuple[str, str]] = []
        with self.connection() as connection:
            try:
                connection.execute(_PATIENTLY)
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
                self._make_schema(connection)
                missing = self._missing(connection)
                for name, sql in missing:
                    connection.execute(sql.encode())
                    connection.execute(
                        "INSERT INTO migrations (name, checksum, applied_at) VALUES (%s, %s, %s)",
                        migrate.record(name, sql),
                    )
            except psycopg.errors.InsufficientPrivilege as error:
                raise self._may_not(connection, missing) from error
            except (psycopg.errors.DuplicateTable, psycopg.errors.DuplicateObject) as error:
                raise self._foreign(str(error.diag.message_primary).partition('"')[2].partition('"')[0]) from error
        return [name for name, _ in missing]

    def _make_schema(self, connection: psycopg.Connection[Any]) -> None:
        """Make the schema if it isn't there: to say IF NOT EXISTS asks for more rights than to use it."""
        row = connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", [self._path]).fetchone()
        if self._path is not None and not (row and row[0]):
            connection.execute(f"CREATE SCHEMA {self._path}".encode())
        row = connection.execute("SELECT current_schema()").fetchone()
        if row is None or row[0] is None:
            raise errors.ConfigurationError(
                f"{self.shown}: there is no schema to make tables in (no 'public'?); pass schema='perdure'"
            )

    def _may_not(self, connection: psycopg.Connection[Any], missing: list[tuple[str, str]]) -> errors.PrivilegeError:
        names = ", ".join(name for name, _ in missing)
        is_new = len(missing) in {0, len(statements.migrations("postgres"))}
        what = "set it up" if is_new else f"apply the migrations that are missing ({names})"
        return errors.PrivilegeError(
            f"{self.shown}: the role {connection.info.user!r} may not {what}; nothing was changed. "
            f"As the owner of the database or of Perdure's tables, run: {self.command}"
        )

    def make_role(self, name: str) -> list[str]:
        """Let a role use the tables, and make it if need be; return the SQL that did."""
        try:
            return self._make_role(name)
        except (OutdatedError, errors.DatabaseError) as error:
            # Roles belong to the whole server: somebody who sets up another database may have made the same one now.
            if not isinstance(error.__cause__, psycopg.errors.UniqueViolation | psycopg.errors.DuplicateObject):
                raise
            return self._make_role(name)

    def _make_role(self, name: str) -> list[str]:
        with self.connection() as connection:
            try:
                return roles.make(connection, name)
            except psycopg.errors.InsufficientPrivilege as error:
                raise errors.PrivilegeError(
                    f"{self.shown}: the role {connection.info.user!r} may not make {name!r} or grant it the tables; "
                    "nothing was changed. Let a role with CREATEROLE run CREATE ROLE, then the owner this command "
                    f"again. The SQL is shown by: {self.granting(name)} --print"
                ) from error

    # Looking at it

    def _judge(self, connection: psycopg.Connection[Any], walls: str) -> None:
        role, why = roles.weakness(connection)
        if why is None:
            return
        said = (
            f"{self.shown}: the role {role!r} {why}, so the database's own wall between tenants doesn't hold it. "
            f"Let the application use a role of its own, made by: {self.granting('NAME')}"
        )
        if walls == "refuse":
            raise errors.UnsafeRoleError(said)
        warnings.warn(said, errors.UnsafeRoleWarning, stacklevel=_level())

    def check(self, *, most: int = MOST) -> list[Finding]:
        """Return what `perdure doctor` shows. `most`: connections that a pool may take."""
        with self.connection() as connection:
            self._refuse_hidden(connection)
            return server_checks.findings(server_checks.Place(connection, self.command, most))

    def size(self) -> int:
        """Return the bytes of our tables, with their indexes."""
        with self.connection() as connection:
            return server_figures.size(connection)

    def figures(self) -> figures.Figures:
        """Return what `perdure inspect` shows."""
        with self.connection() as connection:
            return server_figures.figures_of(connection)


def seconds(value: object, what: str) -> float:
    """Return a number of seconds above 0. Raises ConfigurationError."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
        return float(value)
    raise errors.ConfigurationError(f"pool={{'{what}': …}} must be a number of seconds above 0, not {value!r}")


def _parsed(url: str) -> dict[str, Any]:
    """Return what a URL says. No error repeats a part of it that may be a password."""
    said = f"{urls.hidden(url)!r} is no PostgreSQL URL"
    encode = "special characters in a user's name or password must be percent-encoded (@ is %40, / is %2F, : is %3A)"
    try:
        found = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        why = str(error).strip() if urls.hidden(url) == url and "@" not in url else encode
        raise errors.InvalidUrlError(f"{said} ({why}): write postgresql://user@host:5432/database") from None
    ports = str(found.get("port") or "").split(",")
    if urls.has_stray_at(url) or not all(port.isdecimal() for port in ports if port):
        raise errors.InvalidUrlError(f"{said}: {encode}")
    return found


def _level() -> int:
    """Return the stacklevel of who called Perdure, for a warning of the function that asks."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "perdure":
        frame, level = frame.f_back, level + 1
    return level
