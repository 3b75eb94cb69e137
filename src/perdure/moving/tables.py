"""The tables of stock savers, one kind of database each: rows <-> states. What they have in common is in `stock`."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.serde.types import TASKS, _DeltaSnapshot

from perdure import errors
from perdure.moving.connections import Connection
from perdure.moving.incoming import Incoming
from perdure.moving.outgoing import Outgoing
from perdure.moving.states import Key, Pending, State

__all__ = ["PostgresTables", "SqliteTables", "Tables", "tables"]

_OF_STATE = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_PRIMITIVE = (str, int, float, bool, type(None))
_OLD = 4
"""The version of checkpoints from which on pending sends are no longer writes of the parent."""


class Tables:
    """What the kinds of databases have in common: pending writes. `read` and `insert` are each kind's own."""

    writes: str
    """The table of pending writes."""
    value: str
    """Its column with the bytes."""

    def __init__(self, connection: Connection, decode: Incoming, encode: Outgoing) -> None:
        self._connection = connection
        self._decode = decode
        self._encode = encode

    @functools.cached_property
    def _path(self) -> str:
        """What to select for a task's path: old tables have none."""
        return "task_path" if "task_path" in self._connection.columns(self.writes) else "''"

    def read(self, thread: str, key: Key, where: str) -> tuple[dict[str, Any], Any]:
        """Return the checkpoint and metadata of a row. Raises NotFoundError if there is none."""
        raise NotImplementedError

    def insert(self, thread: str, state: State, where: str) -> None:
        """Insert the row of a checkpoint and what belongs to it, its writes aside."""
        raise NotImplementedError

    def read_writes(self, thread: str, key: Key, where: str) -> list[Pending]:
        """Return the pending writes of a checkpoint, in the order in which stock savers give them out."""
        sql = f"SELECT task_id, {self._path}, idx, channel, type, {self.value} FROM {self.writes} WHERE {_OF_STATE}"  # noqa: S608
        rows = self._connection.rows(sql, thread, key.ns, key.id)
        return [
            Pending(task, path, index, channel, self._decode.value(kind, data, f"{where}, write to {channel!r}"))
            for task, path, index, channel, kind, data in sorted(rows, key=lambda row: (row[1], row[0], row[2]))
        ]

    def insert_writes(self, thread: str, key: Key, writes: Sequence[Pending], where: str) -> None:
        """Insert pending writes of a checkpoint."""
        sql = (
            f"INSERT INTO {self.writes} (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, "  # noqa: S608
            f"type, {self.value}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO UPDATE "
            f"SET channel = excluded.channel, type = excluded.type, {self.value} = excluded.{self.value}"
        )
        rows: list[Sequence[object]] = []
        for write in writes:
            kind_data = self._encode.dump(write.value, f"{where}, write to {write.channel!r}")
            rows.append((thread, key.ns, key.id, write.task, write.path, write.index, write.channel, *kind_data))
        if rows:
            self._connection.many(sql, rows)


class SqliteTables(Tables):
    """Everything of a checkpoint is in one value."""

    writes = "writes"
    value = "value"

    def read(self, thread: str, key: Key, where: str) -> tuple[dict[str, Any], Any]:
        sql = f"SELECT type, checkpoint, metadata FROM checkpoints WHERE {_OF_STATE}"  # noqa: S608 - a constant
        rows = self._connection.rows(sql, thread, key.ns, key.id)
        if not rows:
            raise _gone(where)
        kind, data, metadata = rows[0]
        return _dict(self._decode.value(kind, data, where), where), _json(metadata, where)

    def insert(self, thread: str, state: State, where: str) -> None:
        key = state.key
        kind, data = self._encode.dump(state.checkpoint, where)
        row = (thread, key.ns, key.id, key.parent, kind, data, _text(state.metadata, where).encode())
        self._connection.many(
            "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, "
            "metadata) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [row],
        )


class PostgresTables(Tables):
    """Plain values are in the checkpoint's JSON, the others in rows of their own by channel and version."""

    writes = "checkpoint_writes"
    value = "blob"

    def read(self, thread: str, key: Key, where: str) -> tuple[dict[str, Any], Any]:
        sql = f"SELECT checkpoint, metadata, parent_checkpoint_id FROM checkpoints WHERE {_OF_STATE}"  # noqa: S608
        rows = self._connection.rows(sql, thread, key.ns, key.id)
        if not rows:
            raise _gone(where)
        checkpoint, metadata, parent = rows[0]
        values = dict(_dict(checkpoint, where).get("channel_values") or {})
        versions = {name: str(version) for name, version in checkpoint["channel_versions"].items()}
        for name, version, kind, data in self._blobs(thread, key.ns, versions):
            if versions.get(name) == version and kind != "empty":
                values[name] = self._decode.value(kind, data, f"{where}, channel {name!r}")
        found = {**checkpoint, "channel_values": values}
        if checkpoint["v"] < _OLD and parent:
            self._adopt_sends(thread, parent, found, where)
        return found, _dict(metadata, where)

    def _blobs(self, thread: str, ns: str, versions: dict[str, str]) -> Sequence[Any]:
        sql = (
            "SELECT channel, version, type, blob FROM checkpoint_blobs "
            "WHERE thread_id = ? AND checkpoint_ns = ? AND channel = ANY(?) AND version = ANY(?)"
        )
        return self._connection.rows(sql, thread, ns, [*versions], [*versions.values()])

    def _adopt_sends(self, thread: str, parent: str, found: dict[str, Any], where: str) -> None:
        """Take over what the parent has sent, as the stock saver does for checkpoints of this age."""
        sql = (
            "SELECT type, blob FROM checkpoint_writes WHERE thread_id = ? AND checkpoint_id = ? AND channel = ? "
            "ORDER BY task_path, task_id, idx"
        )
        rows = self._connection.rows(sql, thread, parent, TASKS)
        if rows:
            versions = found["channel_versions"]
            found["channel_values"][TASKS] = [self._decode.value(kind, data, where) for kind, data in rows]
            found["channel_versions"] = {**versions, TASKS: max(versions.values(), default=1)}

    def insert(self, thread: str, state: State, where: str) -> None:
        key, values = state.key, state.checkpoint["channel_values"]
        inline = {n: True if type(v) is _DeltaSnapshot else v for n, v in values.items() if _is_inline(v)}
        versions, blobs = state.checkpoint["channel_versions"], []
        for name, value in values.items():
            if name not in inline or inline[name] is not value:
                if name not in versions:
                    raise errors.UnsupportedValueError(f"{where}, channel {name!r}: the value has no version")
                kind_data = self._encode.dump(value, f"{where}, channel {name!r}")
                blobs.append((thread, key.ns, name, str(versions[name]), *kind_data))
        self._connection.many(
            "INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob) "
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (thread_id, checkpoint_ns, channel, version) DO NOTHING",
            blobs,
        )
        checkpoint = _text({**state.checkpoint, "channel_values": inline}, where)
        self._connection.many(
            "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, "
            "metadata) VALUES (?, ?, ?, ?, ?::jsonb, ?::jsonb)",
            [(thread, key.ns, key.id, key.parent, checkpoint, _text(state.metadata, where))],
        )


def tables(connection: Connection, decode: Incoming, encode: Outgoing) -> Tables:
    """Return the tables of a connection's kind of database."""
    kind = SqliteTables if connection.kind == "sqlite" else PostgresTables
    return kind(connection, decode, encode)


def _is_inline(value: object) -> bool:
    return type(value) in _PRIMITIVE or type(value) is _DeltaSnapshot


def _json(data: Any, where: str) -> dict[str, Any]:
    if data is None:
        return {}
    try:
        return _dict(json.loads(data), where)
    except ValueError as error:
        raise errors.CorruptValueError(f"{where}: the metadata is no JSON") from error


def _dict(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise errors.CorruptValueError(f"{where}: what is stored is no checkpoint")
    return found


def _text(value: dict[str, Any], where: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise errors.UnsupportedValueError(
            f"{where}: stock savers keep metadata as JSON, and it has {error}"
        ) from error


def _gone(where: str) -> errors.NotFoundError:
    return errors.NotFoundError(f"{where} is not there any more")
