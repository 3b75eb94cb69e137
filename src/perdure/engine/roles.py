"""Roles: who an application is to a PostgreSQL server, and whether the walls between tenants hold it."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from perdure import errors

__all__ = ["TABLES", "make", "weakness"]

TABLES = (
    "threads",
    "thread_tags",
    "spaces",
    "checkpoints",
    "writes",
    "staged_writes",
    "logs",
    "entries",
    "digests",
    "items",
)
"""The tables that hold tenants' rows."""

_LONGEST = 63


def weakness(connection: psycopg.Connection[Any]) -> tuple[str, str | None]:
    """Return the role of a connection, and why the walls between tenants don't hold it; None if they do."""
    row = connection.execute(
        "SELECT r.rolname, r.rolsuper, r.rolbypassrls, EXISTS ("
        "SELECT 1 FROM pg_class c WHERE c.oid = to_regclass('threads') AND pg_has_role(r.oid, c.relowner, 'USAGE')) "
        "FROM pg_roles r WHERE r.rolname = current_user"
    ).fetchone()
    name, is_superuser, bypasses, owns = row or ("?", False, False, False)
    if is_superuser:
        return name, "is a superuser"
    if bypasses:
        return name, "has BYPASSRLS"
    return name, "owns the tables" if owns else None


def make(connection: psycopg.Connection[Any], name: str) -> list[str]:
    """Let a role use Perdure's tables, and make it if there is none of that name; return the SQL that did.

    The role owns nothing and is held by the walls. It has no password: the administrator gives it one.
    """
    if not name or "\0" in name or len(name.encode()) > _LONGEST:
        raise errors.ConfigurationError(f"a role's name has 1 to {_LONGEST} bytes, without a NUL, not {name!r}")
    done = [statement.as_string(connection) for statement in _statements(connection, name)]
    for statement in done:
        connection.execute(statement.encode())
    return done


def _statements(connection: psycopg.Connection[Any], name: str) -> list[sql.Composed]:
    role = sql.Identifier(name)
    found = []
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone():
        found.append(sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS").format(role))
    row = connection.execute("SELECT current_schema()").fetchone()
    schema = sql.Identifier(str(row[0]) if row else "public")
    tables = sql.SQL(", ").join(sql.Identifier(table) for table in TABLES)
    return [
        *found,
        sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role),
        sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(tables, role),
        sql.SQL("GRANT SELECT ON migrations TO {}").format(role),
        sql.SQL("GRANT USAGE ON SEQUENCE generations TO {}").format(role),
    ]
