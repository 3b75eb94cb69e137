"""Databases for tests: each test gets one that nobody has used, or that can't be told from such a one."""

from __future__ import annotations

import contextlib
import secrets
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import psycopg
from psycopg import sql

from perdure import Memory, errors


class Place(Protocol):
    """Where databases can be made: a server of ours, or the one that PERDURE_TEST_POSTGRES names."""

    def url(self, database: str = ..., *, user: Any = ..., password: str | None = ...) -> str: ...


class Elsewhere:
    """A server that somebody else runs. The URL's user must be allowed to make databases and roles."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)

    def url(self, database: str = "", *, user: str | None = None, password: str | None = None) -> str:
        parts = self._parts
        if user is not None:
            host = parts.netloc.rpartition("@")[2]
            secret = f":{quote(password, safe='')}" if password else ""
            parts = parts._replace(netloc=f"{quote(user, safe='')}{secret}@{host}")
        # By hand, because urlunsplit drops the empty host of a URL that names a Unix socket.
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}/{database or parts.path.lstrip('/')}{query}"


class Fresh:
    """New databases, cloned from a template.

    None is made ahead: a drop makes the server write out all other new databases, which takes longer than it saves.
    """

    def __init__(self, place: Place, template: str) -> None:
        self._place, self._template = place, template
        self._admin = psycopg.connect(place.url(), autocommit=True)

    def make(self) -> str:
        name = _unique()
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        return name

    def drop(self, name: str) -> None:
        end_connections(self._admin, name)
        self._admin.execute(f"DROP DATABASE {name} WITH (FORCE)")

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """Lend a new database: its URL."""
        name = self.make()
        try:
            yield self._place.url(name)
        finally:
            self.drop(name)

    def close(self) -> None:
        self._admin.close()


class Washed:
    """Databases equal to a template, washed between tests: much faster than new ones, which are hundreds of files.

    Rows and sequences are brought back. Where a test has changed the catalog (a table, a grant, a setting) it is
    emptied, if the template is empty, or else the next test gets a new one. Statistics and dead rows stay: a test about
    plans asks for a fresh database.
    """

    def __init__(self, fresh: Fresh, place: Place) -> None:
        self._fresh, self._place = fresh, place
        self._name = ""
        self._known: Contents | None = None
        self._uses = 0

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """Lend a database that can't be told from a new one: its URL."""
        if self._known is None:
            self._name = self._fresh.make()
            self._known, self._uses = Contents(self._place.url(self._name)), 0
        try:
            yield self._place.url(self._name)
        finally:
            self._uses += 1
            if self._uses == 200 or not self._known.restore():
                self.close()

    def close(self) -> None:
        if self._known is not None:
            self._known.close()
            self._known = None
            self._fresh.drop(self._name)


def end_connections(connection: psycopg.Connection, database: str) -> None:
    """End all other connections to a database. PostgreSQL's own waiting sleeps for tenths of a second."""
    end = time.monotonic() + 20
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
    while connection.execute(query, [database]).fetchall():
        if time.monotonic() > end:
            raise TimeoutError(f"{database} still has connections")
        time.sleep(0.001)


class Contents:
    """What was in a database, and how to get back to it."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True, application_name="tests")
        self._connection.execute("SET session_replication_role = replica")  # no triggers, no foreign keys
        self._catalog = self._fingerprint()
        self._sequences = self._names("S")
        self._counts = self._counted()
        tables = self._names("r")
        self._seeds = {name: seed for name in tables if (seed := self._copied(name))}
        parts = [f"SELECT {number} WHERE EXISTS (SELECT FROM {name})" for number, name in enumerate(tables)]
        self._tables, self._filled = tables, " UNION ALL ".join(parts)

    def restore(self) -> bool:
        """Bring the rows and sequences back; say False if more than these has changed."""
        end_connections(self._connection, self._connection.info.dbname)
        if self._fingerprint() != self._catalog and (self._tables or not self._emptied()):
            return False
        with self._connection.transaction():
            filled = self._connection.execute(self._filled).fetchall() if self._tables else []
            for table in {self._tables[int(number)] for (number,) in filled} | self._seeds.keys():
                self._connection.execute(f"DELETE FROM {table}")
            for table, seed in self._seeds.items():
                with self._connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                    copy.write(seed)
            if (counts := self._counted()) != self._counts:
                for name, now, then in zip(self._sequences, counts, self._counts, strict=True):
                    if now != then:
                        self._connection.execute("SELECT setval(%s, %s, %s)", [name, *then])
        return True

    def close(self) -> None:
        self._connection.close()

    def _emptied(self) -> bool:
        """Remove all that isn't PostgreSQL's own; say False if something is left over."""
        names = self._connection.execute(
            "SELECT format('EXTENSION %I', extname) FROM pg_extension WHERE extname <> 'plpgsql' UNION ALL"
            f" SELECT format('SCHEMA %I', nspname) FROM pg_namespace WHERE {_OURS}"
        ).fetchall()
        with self._connection.transaction():
            for (name,) in names:
                self._connection.execute(f"DROP {name} CASCADE")
            self._connection.execute(_PUBLIC)
        now = self._fingerprint()
        if [count for count, _ in now] != [count for count, _ in self._catalog]:
            return False
        self._catalog = now
        return True

    def _fingerprint(self) -> list[tuple[int, Any]]:
        """Return what every change of the catalog changes: rows of it get the number of their transaction."""
        parts = [f"SELECT {n}, count(*), sum(xmin::text::bigint) FROM {name}" for n, name in enumerate(_CATALOG)]
        settings = "pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase WHERE datname = current_database()"
        query = " UNION ALL ".join([*parts, f"SELECT 99, count(*), sum(length(setconfig::text)) FROM {settings}"])
        return [row[1:] for row in self._connection.execute(f"{query} ORDER BY 1")]

    def _names(self, kind: str) -> list[str]:
        """Return the quoted names of all tables or sequences that are not PostgreSQL's own."""
        found = self._connection.execute(
            "SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
            f" WHERE {_OURS} AND relkind::text = '{kind}' ORDER BY 1, 2"
        )
        return [sql.Identifier(*row).as_string() for row in found]

    def _counted(self) -> list[Any]:
        if not self._sequences:
            return []
        parts = [f"SELECT last_value, is_called FROM {name}" for name in self._sequences]
        return self._connection.execute(" UNION ALL ".join(parts)).fetchall()

    def _copied(self, table: str) -> bytes:
        with self._connection.cursor().copy(f"COPY {table} TO STDOUT") as copy:
            return b"".join(bytes(part) for part in copy)


_CATALOG = (
    *("pg_attrdef", "pg_attribute", "pg_cast", "pg_class", "pg_constraint", "pg_default_acl", "pg_event_trigger"),
    *("pg_extension", "pg_foreign_server", "pg_index", "pg_largeobject_metadata", "pg_namespace", "pg_policy"),
    *("pg_proc", "pg_publication", "pg_trigger", "pg_type"),
)
_OURS = "nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"
_PUBLIC = (
    "CREATE SCHEMA public AUTHORIZATION pg_database_owner; GRANT USAGE ON SCHEMA public TO PUBLIC;"
    "COMMENT ON SCHEMA public IS 'standard public schema'"
)


APPLICATION = "perdure_application"
"""The role of an application, made as `perdure setup --role` does."""


def prepare(url: str) -> None:
    """Set Perdure up in a database, as its first use would, and let the application's role use it."""
    with warnings.catch_warnings(action="ignore", category=errors.UnsafeRoleWarning), Memory.open(url) as memory:
        memory.engine.server.make_role(APPLICATION)


@contextlib.contextmanager
def prepared(place: Place, prepare: Callable[[str], None] = prepare) -> Iterator[str]:
    """Lend a template in which Perdure, or something else, has been set up: its name."""
    name = f"{_unique()}_template"
    with psycopg.connect(place.url(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            prepare(place.url(name))
            yield name
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.contextmanager
def role(place: Place, url: str) -> Iterator[str]:
    """Lend a role that may log in and nothing more: the URL with which it opens the database of `url`.

    It is no superuser and owns nothing, so row-level security binds it. What it is granted goes with it.
    """
    name, password = f"{_unique()}_role", secrets.token_urlsafe(12)
    named, hidden = sql.Identifier(name), sql.Literal(password)
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD {}").format(named, hidden))
        database = admin.info.dbname
    try:
        yield place.url(database, user=name, password=password)
    finally:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [name])
            admin.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(named))
            admin.execute(sql.SQL("DROP ROLE {}").format(named))


def _unique() -> str:
    return f"perdure_{secrets.token_hex(4)}"
