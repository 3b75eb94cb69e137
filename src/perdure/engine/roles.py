"""Roles: who an application is to a PostgreSQL server, and whether the walls between tenants hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perdure import errors
from perdure.engine import statements

if TYPE_CHECKING:  # the SQL is shown to people who may not have the driver
    import psycopg

__all__ = ["TABLES", "grants", "make", "weakness"]

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
    "embeddings",
    "item_vectors",
    "item_changes",
    "item_versions",
    "item_policies",
)
"""The tables that hold tenants' rows."""


def weakness(connection: psycopg.Connection[Any], role: str | None = None) -> tuple[str, str | None]:
    """Return a role, and why the walls between tenants don't hold it; None if they do. None named: who is connected."""
    row = connection.execute(
        "SELECT r.rolname, r.rolsuper, r.rolbypassrls, EXISTS ("
        "SELECT 1 FROM pg_class c WHERE c.oid = to_regclass('threads') AND pg_has_role(r.oid, c.relowner, 'USAGE')) "
        "FROM pg_roles r WHERE r.rolname = coalesce(%s, current_user)",
        [role],
    ).fetchone()
    name, is_superuser, bypasses, owns = row or (role or "?", False, False, False)
    if is_superuser:
        return name, "is a superuser"
    if bypasses:
        return name, "has BYPASSRLS"
    return name, "owns the tables" if owns else None


def make(connection: psycopg.Connection[Any], name: str) -> list[str]:
    """Let a role use Perdure's tables, and make it if there is none of that name; return the SQL that did.

    The role owns nothing and is held by the walls. It has no password: the administrator gives it one.
    Raises UnsafeRoleError for a role that is there and that the walls wouldn't hold.
    """
    statements.quoted(name, "a role")
    is_there = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone() is not None
    _, why = weakness(connection, name)
    if why is not None:
        raise errors.UnsafeRoleError(
            f"the role {name!r} {why}, so the walls between tenants don't hold it, and nothing was granted. "
            "Name a role of the application's own; one that isn't there is made."
        )
    row = connection.execute("SELECT current_schema()").fetchone()
    done = grants(name, row[0] if row else None, is_there=is_there)
    for statement in done:
        connection.execute(statement.encode())
    return done


def grants(name: str, schema: str | None, *, is_there: bool = False) -> list[str]:
    """Return the SQL that lets a role use the tables of a schema, and makes the role."""
    role, place = statements.quoted(name, "a role"), statements.quoted(schema or "public", "a schema")
    tables = ", ".join(f"{place}.{table}" for table in TABLES)
    return [
        *([] if is_there else [f"CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS"]),
        f"GRANT USAGE ON SCHEMA {place} TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {role}",
        f"GRANT SELECT ON {place}.migrations TO {role}",
        f"GRANT USAGE ON SEQUENCE {place}.generations TO {role}",
    ]
