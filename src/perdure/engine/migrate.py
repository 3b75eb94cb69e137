"""Migrations: SQL files, each applied once, in order, under a lock."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import apsw

from perdure import errors
from perdure.engine import Finding, figures, files, statements

__all__ = ["Applied", "apply_sqlite", "judged", "listed", "missing", "names", "record", "refuse_newer", "script"]

Applied = tuple[str, str, int]
"""A row of `migrations`: name, checksum, and when it was applied in microseconds."""

_NOW = {
    "sqlite": "unixepoch() * 1000000",
    "postgres": "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
}


def names(engine: str) -> list[str]:
    """Return the names of the migrations that this release knows, in order."""
    return [name for name, _ in statements.migrations(engine)]


def record(name: str, sql: str) -> Applied:
    """Return the row that says that a migration has been applied just now."""
    return name, hashlib.sha256(sql.encode()).hexdigest(), time.time_ns() // 1000


def refuse_newer(engine: str, version: int | None, name: str) -> None:
    """Raise NewerSchemaError if a database has migrations that this release doesn't know."""
    known = len(statements.migrations(engine))
    if version is not None and version > known:
        msg = f"{name} has schema {version}, this Perdure knows up to {known}; it was left as it is. Upgrade perdure."
        raise errors.NewerSchemaError(msg)


def apply_sqlite(connection: apsw.Connection, place: files.Place) -> list[str]:
    """Apply the missing migrations in one transaction and return their names.

    `user_version` counts the applied ones; it is read again under the write lock, so that several
    processes may set up the same file at once.
    """
    available = statements.migrations("sqlite")
    if connection.pragma("user_version") == len(available):
        return []
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.pragma("user_version")
        refuse_newer("sqlite", version, str(place.path))
        lacking = available[version:]
        for name, sql in lacking:
            connection.execute(sql)
            connection.execute(
                "INSERT INTO migrations (name, checksum, applied_at) VALUES (?, ?, ?)", record(name, sql)
            )
        connection.execute(f"PRAGMA application_id={files.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={len(available)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return [name for name, _ in lacking]


# For people who look


def listed(engine: str, applied: Sequence[Applied]) -> list[figures.Migration]:
    """Return the migrations that a database has had."""
    known = dict(statements.migrations(engine))
    return [
        figures.Migration(name, when, name in known and record(name, known[name])[1] == checksum)
        for name, checksum, when in applied
    ]


def judged(engine: str, applied: Sequence[Applied], command: str) -> Finding:
    """Return whether a database has had the migrations of this release, as they are; `command` applies them."""
    known, found = names(engine), listed(engine, applied)
    there = {migration.name for migration in found}
    if lacking := [name for name in known if name not in there]:
        return missing(lacking, command)
    if newer := sorted(there - set(known)):
        return Finding.wrong("migrations", f"{', '.join(newer)}: of a newer Perdure. Upgrade perdure.")
    if changed := [migration.name for migration in found if not migration.known]:
        said = "not what was applied here: this Perdure was changed, or is a release that was never published"
        return Finding.wrong("migrations", f"{', '.join(changed)}: {said}. Install a published release.")
    return Finding.ok("migrations", f"{len(found)} applied, up to {known[-1]}")


def missing(lacking: Sequence[str], command: str) -> Finding:
    """Return that a database lacks migrations, and what applies them."""
    return Finding.wrong("migrations", f"missing: {', '.join(lacking)}. Run: {command}")


def script(engine: str, schema: str | None) -> list[tuple[str, str]]:
    """Return (name, SQL) of what sets up an empty database, for a person to run in place of `perdure setup`."""
    found = []
    if schema is not None:
        name = statements.quoted(schema, "a schema")
        found.append(("schema", f"CREATE SCHEMA IF NOT EXISTS {name};\nSET LOCAL search_path TO {name};\n"))
    for name, sql in statements.migrations(engine):
        row = f"('{name}', '{record(name, sql)[1]}', {_NOW[engine]})"
        insert = f"INSERT INTO migrations (name, checksum, applied_at) VALUES {row};\n"  # noqa: S608 - constants
        found.append((name, f"{sql.rstrip()}\n\n{insert}"))
    if engine == "sqlite":
        ours = f"PRAGMA application_id = {files.APPLICATION_ID};\nPRAGMA user_version = {len(found)};\n"
        found.append(("marks", ours))
    return [("begin", "BEGIN;\n"), *found, ("commit", "COMMIT;\n")]
