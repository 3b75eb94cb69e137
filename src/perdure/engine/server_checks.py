"""Checks of PostgreSQL: whether the server, the database and the role are what Perdure needs. They change nothing.

Everything is asked of the catalog, which every role may read, so that a role without rights learns what it lacks.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import psycopg_pool

from perdure.engine import Finding, migrate, roles, server_figures, server_settings

__all__ = ["OLDEST", "findings"]

OLDEST = 14
"""The oldest PostgreSQL that is supported."""

_OPERATED = {"threads", "items", "item_versions"}
"""The tables that a sweep may look at for every tenant: see the migration of the walls."""
_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look: a connection, the command that sets up what is looked at, and connections that a pool may take."""

    connection: psycopg.Connection[Any]
    command: str
    most: int

    def rows(self, query: str, *given: object) -> list[Any]:
        """Return the rows of a query."""
        return self.connection.execute(query.encode(), given or None).fetchall()


def findings(place: Place) -> list[Finding]:
    """Return what `perdure doctor` shows of a server that answers."""
    found = [*_versions(place), *server_settings.findings(place.connection, place.most), *_vector(place)]
    if not _is_set_up(place):
        names = migrate.names("postgres")
        return [*found, *_role(place), migrate.missing(names, place.command)]
    return [
        *found,
        *_migrations(place),
        *_role(place),
        _rights(place),
        *_walls(place),
        _policies(place),
        _order(place),
        _indexes(place),
    ]


def _versions(place: Place) -> Iterator[Finding]:
    number = place.connection.info.server_version // 10000
    ((said, encoding),) = place.rows(
        "SELECT current_setting('server_version'), pg_encoding_to_char(encoding) FROM pg_database "
        "WHERE datname = current_database()"
    )
    old = f"; {OLDEST} is the oldest that works: upgrade the server"
    yield Finding("server", number >= OLDEST, f"PostgreSQL {said}{'' if number >= OLDEST else old}")
    driver = f"psycopg {psycopg.__version__} ({psycopg.pq.__impl__}), libpq {_dotted(psycopg.pq.version())}"
    yield Finding.ok("driver", f"{driver}, psycopg_pool {psycopg_pool.__version__}")
    bad = "; make a database with ENCODING 'UTF8' TEMPLATE template0"
    yield Finding("encoding", encoding == "UTF8", encoding if encoding == "UTF8" else encoding + bad)


def _dotted(version: int) -> str:
    return f"{version // 10000}.{version % 10000}"


def _vector(place: Place) -> Iterator[Finding]:
    rows = place.rows("SELECT default_version, installed_version FROM pg_available_extensions WHERE name = 'vector'")
    default, installed = rows[0] if rows else (None, None)
    optional = "optional: only search by meaning needs it"
    if installed:
        yield Finding.ok("extension vector", f"{installed}, in this database")
    elif default:
        yield Finding.noted("extension vector", f"{default}, available: CREATE EXTENSION vector ({optional})")
    else:
        yield Finding.noted("extension vector", f"not on this server ({optional})")


def _is_set_up(place: Place) -> bool:
    ((there,),) = place.rows("SELECT to_regclass('migrations') IS NOT NULL")
    return bool(there)


def _migrations(place: Place) -> Iterator[Finding]:
    ((readable,),) = place.rows("SELECT has_table_privilege(to_regclass('migrations'), 'SELECT')")
    if not readable:
        yield Finding.wrong(
            "migrations", f"the role may not read them. As their owner, run: {place.command} --role NAME"
        )
        return
    columns = place.rows(
        "SELECT attname FROM pg_attribute "
        "WHERE attrelid = to_regclass('migrations') AND attnum > 0 AND NOT attisdropped"
    )
    if not {"name", "checksum", "applied_at"} <= {name for (name,) in columns}:
        yield Finding.wrong("migrations", "a table of another program. Keep Perdure apart with --schema perdure.")
        return
    yield migrate.judged("postgres", server_figures.applied(place.connection), place.command)


def _role(place: Place) -> Iterator[Finding]:
    name, why = roles.weakness(place.connection)
    if why is None:
        yield Finding.ok("role", f"{name}: held by the walls between tenants")
        return
    remedy = f"Let the application use a role of its own, made by: {place.command} --role NAME"
    owns = why == "owns the tables"
    what = "could take the walls between tenants down" if owns else "walks through the walls between tenants"
    yield Finding("role", owns, f"{name} {why}, so it {what}. {remedy}", note=owns)


def _rights(place: Place) -> Finding:
    """Return what the role may not do that Perdure does."""
    lacking = place.rows(
        "SELECT n, string_agg(r, ', ' ORDER BY o) "
        "FROM unnest(%s::text[]) n, unnest(%s::text[]) WITH ORDINALITY x(r, o) "
        "WHERE to_regclass(n) IS NOT NULL AND NOT has_table_privilege(to_regclass(n), r) GROUP BY n ORDER BY n",
        list(roles.TABLES),
        list(_RIGHTS),
    )
    ((usable,),) = place.rows("SELECT has_sequence_privilege(to_regclass('generations'), 'USAGE')")
    if usable is False:
        lacking.append(("generations", "USAGE"))
    gone = place.rows("SELECT n FROM unnest(%s::text[]) n WHERE to_regclass(n) IS NULL", [*roles.TABLES, "generations"])
    if gone:
        return Finding.wrong("rights", f"not there: {', '.join(name for (name,) in gone)}. Restore a backup.")
    if lacking:
        said = "; ".join(f"{rights} on {table}" for table, rights in lacking)
        return Finding.wrong(
            "rights", f"the role lacks {said}. As their owner, run: {place.command} --role {_me(place)}"
        )
    return Finding.ok("rights", f"{', '.join(_RIGHTS)} on {len(roles.TABLES)} tables, USAGE on the sequence")


def _me(place: Place) -> str:
    return shlex.quote(place.connection.info.user)


def _walls(place: Place) -> Iterator[Finding]:
    """Return whether each table shows a role its tenant's rows only, the owner of the table included."""
    open_ = place.rows(
        "SELECT n, c.relrowsecurity, c.relforcerowsecurity FROM unnest(%s::text[]) n "
        "JOIN pg_class c ON c.oid = to_regclass(n) WHERE NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY 1",
        list(roles.TABLES),
    )
    for name, enabled, _ in open_:
        lacks = "FORCE" if enabled else "ENABLE ROW LEVEL SECURITY, FORCE"
        yield Finding.wrong(f"wall of {name}", f"it is down. Run: ALTER TABLE {name} {lacks} ROW LEVEL SECURITY;")
    if not open_:
        yield Finding.ok("row-level security", f"enabled and forced on {len(roles.TABLES)} tables")


def _policies(place: Place) -> Finding:
    """Return whether the policies are ours and no others: one more that permits would open a wall."""
    seen = {
        (table, policy, command, "perdure.tenant" in said, "perdure.operator" in said, checked)
        for table, policy, command, said, checked in place.rows(
            "SELECT n, p.polname, p.polcmd::text, coalesce(pg_get_expr(p.polqual, p.polrelid), ''), "
            "p.polwithcheck IS NOT NULL FROM unnest(%s::text[]) n JOIN pg_policy p ON p.polrelid = to_regclass(n) "
            "WHERE p.polpermissive",
            list(roles.TABLES),
        )
    }
    wanted = {(table, "tenant", "*", True, False, False) for table in roles.TABLES}
    wanted |= {(table, "operator", "r", False, True, False) for table in _OPERATED}
    wrong = sorted({f"{policy} of {table}" for table, policy, *_ in seen ^ wanted})
    if wrong:
        return Finding.wrong("policies", f"missing, changed or not ours: {', '.join(wrong)}. Drop them; restore ours.")
    return Finding.ok("policies", f"{len(wanted)}, all as they were set up")


def _order(place: Place) -> Finding:
    """Return whether text is compared by its bytes in every index, as on the other engine."""
    wrong = place.rows(
        "SELECT c.relname FROM unnest(%s::text[]) n JOIN pg_index x ON x.indrelid = to_regclass(n) "
        "JOIN pg_class c ON c.oid = x.indexrelid WHERE EXISTS ("
        "SELECT FROM unnest(x.indcollation::oid[]) o WHERE o NOT IN (0, 'pg_catalog.\"C\"'::regcollation)) ORDER BY 1",
        list(roles.TABLES),
    )
    if wrong:
        said = ", ".join(name for (name,) in wrong)
        return Finding.wrong("collation", f'not "C" in {said}: listings skip or repeat. Recreate those columns.')
    return Finding.ok("collation", 'text is compared by its bytes ("C")')


def _indexes(place: Place) -> Finding:
    """Return whether every index can be used."""
    wrong = place.rows(
        "SELECT c.oid::regclass::text FROM unnest(%s::text[]) n JOIN pg_index x ON x.indrelid = to_regclass(n) "
        "JOIN pg_class c ON c.oid = x.indexrelid WHERE NOT (x.indisvalid AND x.indisready) ORDER BY 1",
        list(roles.TABLES),
    )
    if wrong:
        said = " ".join(f"REINDEX INDEX {name};" for (name,) in wrong)
        return Finding.wrong("indexes", f"some can't be used. Run: {said}")
    return Finding.ok("indexes", "all can be used")
