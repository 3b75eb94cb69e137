"""The table of stock stores: rows <-> items."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from perdure import errors
from perdure.moving.connections import Connection
from perdure.moving.states import Entry, micros_of

__all__ = ["columns", "get", "insert", "left_behind", "pages"]

_PAGE = 200
_MINUTE = 60_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def columns(connection: Connection) -> list[str]:
    """Return the columns of the table; none if there is no such table of a store's."""
    found = connection.columns("store")
    return found if "prefix" in found else []


def left_behind(connection: Connection, known: Sequence[str]) -> list[str]:
    """Return what to tell of that is not taken along."""
    notes = []
    if "expires_at" in known:
        count = connection.rows(f"SELECT count(*) FROM store WHERE {_expired(connection)}")[0][0]  # noqa: S608
        if count:
            notes.append(f"{count} items were left out: they have expired")
    if "prefix" in connection.columns("store_vectors"):
        count = connection.rows("SELECT count(*) FROM store_vectors")[0][0]
        if count:
            notes.append(f"{count} vectors were left out: they are not moved")
    return notes


def _expired(connection: Connection) -> str:
    now = "now()" if connection.kind == "postgres" else "strftime('%Y-%m-%d %H:%M:%f', 'now')"
    return f"expires_at IS NOT NULL AND expires_at <= {now}"


def pages(connection: Connection, known: Sequence[str]) -> Iterator[list[Entry]]:
    """Yield the items that have not expired, in the order of their places."""
    timed = "expires_at" in known
    sql = (
        f"SELECT prefix, key, value, created_at, updated_at, {_timing(known)} FROM store WHERE (prefix, key) > (?, ?) "  # noqa: S608
        f"{f'AND NOT ({_expired(connection)}) ' if timed else ''}ORDER BY prefix, key LIMIT {_PAGE}"
    )
    place = ("", "")
    while rows := connection.rows(sql, *place):
        yield [_entry(row) for row in rows]
        place = (rows[-1][0], rows[-1][1])


def _timing(known: Sequence[str]) -> str:
    return ", ".join(name if name in known else "NULL" for name in ("expires_at", "ttl_minutes"))


def get(connection: Connection, namespace: tuple[str, ...], key: str) -> Entry | None:
    """Return the item at a place, expired or not."""
    sql = (
        "SELECT prefix, key, value, created_at, updated_at, expires_at, ttl_minutes FROM store "
        "WHERE prefix = ? AND key = ?"
    )
    rows = connection.rows(sql, ".".join(namespace), key)
    return _entry(rows[0]) if rows else None


def _entry(row: Sequence[Any]) -> Entry:
    prefix, key, value, created, updated, expires, ttl = row
    if not isinstance(value, dict):
        value = json.loads(value)
    return Entry(
        namespace=tuple(prefix.split(".")),
        key=key,
        value=value,
        created_at=micros_of(created),
        updated_at=micros_of(updated),
        expires_at=None if expires is None else micros_of(expires),
        ttl=None if ttl is None else round(ttl * _MINUTE),
    )


def insert(connection: Connection, entries: Sequence[Entry]) -> None:
    """Insert items. Raises UnsupportedValueError for what the table can't hold."""
    sql = (
        "INSERT INTO store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)"
    )
    if connection.kind == "postgres":
        sql = sql.replace("?, ?, ?,", "?, ?, ?::jsonb,", 1)
    connection.many(sql, [_row(connection, entry) for entry in entries])


def _row(connection: Connection, entry: Entry) -> tuple[object, ...]:
    if any("." in label or not label for label in entry.namespace):
        raise _refused(entry, "stock stores join labels by dots, and one holds a dot")
    text = connection.kind == "sqlite"
    ttl = entry.ttl if entry.ttl is None else entry.ttl / _MINUTE
    if ttl is not None and not text:
        if ttl != int(ttl):
            raise _refused(
                entry, "its TTL is no whole number of minutes, which is all that the table in PostgreSQL holds"
            )
        ttl = int(ttl)
    times = [
        None if t is None else _moment(t, text=text) for t in (entry.created_at, entry.updated_at, entry.expires_at)
    ]
    value = _json(entry)
    return (".".join(entry.namespace), entry.key, value.encode() if text else value, *times, ttl)


def _moment(micros: int, *, text: bool) -> str | datetime:
    found = _EPOCH + timedelta(microseconds=micros)
    return found.replace(tzinfo=None).isoformat(" ") if text else found


def _json(entry: Entry) -> str:
    """Return an item's value as JSON, if it comes back from there as it is."""
    try:
        text = json.dumps(entry.value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _refused(entry, f"stock stores keep values as JSON ({error})") from None
    if not _same(json.loads(text), entry.value):
        raise _refused(entry, "stock stores keep values as JSON, from which it would not come back equal")
    return text


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _refused(entry: Entry, why: str) -> errors.UnsupportedValueError:
    return errors.UnsupportedValueError(f"{entry}: {why}")
