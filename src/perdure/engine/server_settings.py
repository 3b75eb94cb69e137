"""Settings of PostgreSQL: those on which it depends whether what was acknowledged is there after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg

from perdure.engine import Finding, statements

__all__ = ["findings"]

_WANTED = {
    "fsync": "a crash of the machine can destroy the whole database",
    "full_page_writes": "a power cut can leave pages half written, and the database damaged",
    "synchronous_commit": "a crash of the server loses what it acknowledged last",
}
"""Settings that must not be off, and what could be lost if they are."""
_SHOWN = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "transaction_timeout")
_COMMAND_LINE, _CLIENT = "command line", {"client", "session", "environment variable"}


def findings(connection: psycopg.Connection[Any], most: int) -> Iterator[Finding]:
    """Return whether the settings are right, and what to set. `most`: connections that a pool may take."""
    names = [*_WANTED, "default_transaction_read_only", "row_security", *_SHOWN]
    rows = connection.execute("SELECT name, setting, source FROM pg_settings WHERE name = ANY(%s)", [names])
    seen = {name: (value, source) for name, value, source in rows.fetchall()}
    for name, loss in _WANTED.items():
        value, source = seen[name]
        bad = f"{value}: {loss}. {_remedy(connection, name, source)}"
        yield Finding(name, value != "off", bad if value == "off" else value)
    for name, wanted, why in (
        ("default_transaction_read_only", "off", "somebody wanted nothing to be written, perhaps for want of room"),
        ("row_security", "on", "every statement fails for a role that the walls hold"),
    ):
        value, source = seen[name]
        bad = f"{value}: {why}. {_remedy(connection, name, source, wanted)}"
        yield Finding(name, value == wanted, value if value == wanted else bad)
    yield _standby(connection)
    yield from _room(connection, most)
    timeouts = [f"{name} {_milliseconds(seen[name][0])}" for name in _SHOWN if name in seen]
    yield Finding.ok("timeouts", ", ".join(timeouts))


def _remedy(connection: psycopg.Connection[Any], name: str, source: str, wanted: str = "on") -> str:
    """Return what sets a setting right, at the place that it comes from."""
    row = connection.execute("SELECT current_database(), current_user").fetchone() or ("", "")
    database, role = (statements.quoted(found, "a name") for found in row)
    places = {
        "database": f"DATABASE {database}",
        "user": f"ROLE {role}",
        "database user": f"ROLE {role} IN DATABASE {database}",
    }
    if source in places:
        return f"Run: ALTER {places[source]} RESET {name};"
    if source in _CLIENT:
        return "Take it out of the URL, or of PGOPTIONS."
    if source == _COMMAND_LINE:
        return f"Start the server without -c {name}, and with {name} = {wanted} in postgresql.conf."
    return f"Run as a superuser: ALTER SYSTEM SET {name} = '{wanted}'; SELECT pg_reload_conf();"


def _standby(connection: psycopg.Connection[Any]) -> Finding:
    row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    if row and row[0]:
        return Finding.wrong("primary", "this is a standby, which takes no writes. Connect to the primary.")
    return Finding.ok("primary", "takes writes")


def _room(connection: psycopg.Connection[Any], most: int) -> Iterator[Finding]:
    """Return whether the server takes as many connections as pools may ask for."""
    row = connection.execute(
        "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        " - coalesce(current_setting('reserved_connections', true), '0')::int, d.datconnlimit, r.rolconnlimit, "
        "(SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid IS NOT NULL) "
        "FROM pg_database d, pg_roles r WHERE d.datname = current_database() AND r.rolname = current_user"
    ).fetchone()
    if row is None:
        return
    *limits, used = row
    least = min(limit for limit in limits if limit >= 0)
    said = f"{least} at most, {used} in use; a process takes up to {most} for its threads and for each event loop"
    if least < most:
        yield Finding.wrong("connections", f"{said}. Raise max_connections, or lower pool={{'max_size': …}}.")
    else:
        yield Finding("connections", right=True, seen=said, note=least < 2 * most)


def _milliseconds(value: str) -> str:
    return "none" if value == "0" else f"{int(value) / 1000:g} s"
