"""Figures of PostgreSQL: what is in a database, from its catalog, which every role may read."""

from __future__ import annotations

from typing import Any

import psycopg

from perdure.engine import figures, migrate, roles

__all__ = ["applied", "figures_of", "size"]

_NAMES = [*roles.TABLES, "migrations"]
_TABLES = """
    SELECT n, CASE WHEN c.reltuples >= 0 THEN c.reltuples::bigint END, pg_total_relation_size(c.oid),
        pg_indexes_size(c.oid), coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
    FROM unnest(%s::text[]) n JOIN pg_class c ON c.oid = to_regclass(n) ORDER BY 1
"""


def size(connection: psycopg.Connection[Any]) -> int:
    """Return the bytes of our tables, with their indexes."""
    return sum(row[2] for row in connection.execute(_TABLES, [_NAMES]).fetchall())


def figures_of(connection: psycopg.Connection[Any]) -> figures.Figures:
    """Return what `perdure inspect` shows. The numbers of rows are those of the last ANALYZE."""
    row = connection.execute("SELECT current_setting('server_version'), pg_database_size(current_database())")
    version, whole = row.fetchone() or ("?", 0)
    return figures.Figures(
        version=f"PostgreSQL {version}",
        bytes=whole,
        tables=[figures.Table(*found) for found in connection.execute(_TABLES, [_NAMES]).fetchall()],
        migrations=migrate.listed("postgres", applied(connection)),
    )


def applied(connection: psycopg.Connection[Any]) -> list[migrate.Applied]:
    """Return the migrations that a database has had."""
    return connection.execute("SELECT name, checksum, applied_at FROM migrations ORDER BY name").fetchall()
