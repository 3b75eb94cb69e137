"""Migrations: SQL files, each applied once, in order, under a lock."""

from __future__ import annotations

import hashlib
import time

import apsw

from perdure import errors
from perdure.engine import files, statements

__all__ = ["apply_sqlite", "refuse_newer"]


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
        missing = available[version:]
        for name, sql in missing:
            connection.execute(sql)
            connection.execute(
                "INSERT INTO migrations (name, checksum, applied_at) VALUES (?, ?, ?)",
                (name, hashlib.sha256(sql.encode()).hexdigest(), time.time_ns() // 1000),
            )
        connection.execute(f"PRAGMA application_id={files.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={len(available)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return [name for name, _ in missing]
