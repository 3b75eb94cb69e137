"""Pipelines: a batch of statements in one round trip, over libpq as psycopg wraps it.

psycopg's own pipeline mode waits for the socket at every statement and makes a cursor for each. Here the statements
of a batch are put into libpq's buffer, sent together, and their answers read together. The same generator runs in
threads and event loops: `Connection.wait` and `AsyncConnection.wait` know how to wait for it.
"""

from __future__ import annotations

import functools
import re
import struct
from array import array
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import errors, pq
from psycopg.adapt import Transformer
from psycopg.waiting import Ready, Wait

from perdure import errors as ours
from perdure.engine import Params, Row, floats

__all__ = ["Answer", "Pipeline", "Statement"]

Statement = tuple[str, Params]
"""SQL and its parameters, each ``%(name)s`` in it."""

Waiting = Generator[Wait, Ready | int, list[pq.abc.PGresult]]
_PARAMETER = re.compile(r"%\((\w+)\)s")
_INT, _BYTES, _UNKNOWN = 20, 17, 0
_ARRAYS: dict[type, tuple[int, int]] = {int: (20, 1016), bytes: (17, 1001), str: (25, 1009)}
"""For lists: the type of an element, and of an array of them."""
_MOST_PREPARED = 300


class Answer(NamedTuple):
    """What a statement gave: its rows, and how many it changed."""

    rows: list[Row]
    changed: int


@functools.cache
def _form(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return SQL with ``$1`` for its first parameter and so on, and their names."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", sql)
    return numbered.replace("%%", "%").encode(), names


def _encoded(value: Any) -> tuple[bytes | None, int, int]:
    """Return a parameter's bytes, type and format (0 text, 1 binary). Text takes the type that its place asks for."""
    kind = type(value)
    if kind is str:
        return _text(value), _UNKNOWN, 0
    if kind is int:
        return b"%d" % value, _INT, 0
    if kind is bytes:
        return value, _BYTES, 1
    if value is None:
        return None, _UNKNOWN, 0
    if kind is list or kind is array:
        return _array(value)
    if isinstance(value, str):
        return _text(str.__str__(value)), _UNKNOWN, 0
    raise TypeError(f"no parameter is of type {kind.__name__}")


def _text(value: str) -> bytes:
    """Return a text's bytes. libpq would end it at a NUL without a word, and the server takes none."""
    if "\0" in value:
        raise ours.UnsupportedValueError(
            "PostgreSQL keeps no NUL in names (of a channel, for one); nothing was stored. Use another name."
        )
    return value.encode()


def _array(values: list[Any] | array[float]) -> tuple[bytes, int, int]:
    if isinstance(values, array):
        return floats.encoded(values), floats.ARRAY, 1
    element, kind = _ARRAYS[type(values[0])]
    parts = [struct.pack("!iiiii", 1, 0, element, len(values), 1)]
    for value in values:
        data = struct.pack("!q", value) if element == _INT else value if element == _BYTES else value.encode()
        parts += (struct.pack("!i", len(data)), data)
    return b"".join(parts), kind, 1


Key = tuple[bytes, tuple[int, ...]]
"""A statement as the server tells it apart: its text and the types of its parameters."""


class _Call(NamedTuple):
    """A statement with its parameters, ready to be sent."""

    key: Key
    values: list[bytes | None]
    formats: list[int]


def _call(sql: str, params: Params) -> _Call:
    text, names = _form(sql)
    encoded = [_encoded(params[name]) for name in names]
    types = tuple(oid for _, oid, _ in encoded)
    return _Call((text, types), [data for data, _, _ in encoded], [form for _, _, form in encoded])


class Pipeline:
    """The pipelines of one connection, and the statements that are prepared in its session."""

    def __init__(self, connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
        self._pgconn = connection.pgconn
        self._threshold = connection.prepare_threshold
        connection.adapters.register_loader(floats.ARRAY, floats.FloatsLoader)
        self._transformer = Transformer(connection)
        self._uses: dict[Key, int] = {}
        self._names: dict[Key, bytes] = {}
        self._count = 0

    def exchange(self, batch: Sequence[Statement]) -> Waiting:
        """Send statements together; return their results. To be driven by the connection's `wait`."""
        calls = [_call(sql, params) for sql, params in batch]  # nothing is sent if one can't be encoded
        self._pgconn.enter_pipeline_mode()
        sent: list[Key | None] = []
        for call in calls:
            sent += self._send(call)
        self._pgconn.pipeline_sync()
        results = yield from _communicate(self._pgconn)
        self._pgconn.exit_pipeline_mode()
        for key, result in zip(sent, results, strict=True):
            if key is not None and result.status != pq.ExecStatus.COMMAND_OK:
                self._names.pop(key, None)  # something before it failed, so it was not prepared
        return [result for key, result in zip(sent, results, strict=True) if key is None]

    def _send(self, call: _Call) -> list[Key | None]:
        """Put a statement into the buffer; return a key for each preparation and None for each statement."""
        text, types = call.key
        name, sent = self._names.get(call.key), list[Key | None]()
        if name is None and self._is_worth_preparing(call.key):
            self._count += 1
            name = self._names[call.key] = b"perdure_%d" % self._count
            self._pgconn.send_prepare(name, text, types)
            sent.append(call.key)
        if name is None:
            self._pgconn.send_query_params(text, call.values, types, call.formats, pq.Format.BINARY)
        else:
            self._pgconn.send_query_prepared(name, call.values, call.formats, pq.Format.BINARY)
        return [*sent, None]

    def _is_worth_preparing(self, key: Key) -> bool:
        if self._threshold is None or len(self._names) >= _MOST_PREPARED:
            return False
        self._uses[key] = uses = self._uses.get(key, 0) + 1
        return uses > self._threshold

    def answers(self, results: list[Any]) -> list[Answer]:
        """Return what results say. Raises psycopg's error of the first that failed."""
        for result in results:
            if result.status not in _GOOD:
                raise errors.error_from_result(result)
        return [self._answer(result) for result in results]

    def _answer(self, result: Any) -> Answer:
        rows: list[Row] = []
        if result.status == pq.ExecStatus.TUPLES_OK:
            self._transformer.set_pgresult(result)
            rows = self._transformer.load_rows(0, result.ntuples, tuple)
        return Answer(rows, result.command_tuples or 0)


_GOOD = {pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK}


def _communicate(pgconn: pq.abc.PGconn) -> Waiting:
    """Send what is buffered, reading meanwhile, then read every result up to the pipeline's end."""
    while pgconn.flush():
        ready = yield Wait.RW
        if ready and ready & Ready.R:
            pgconn.consume_input()
    results: list[pq.abc.PGresult] = []
    while (result := (yield from _result(pgconn))).status != pq.ExecStatus.PIPELINE_SYNC:
        results.append(result)
    return results


def _result(pgconn: pq.abc.PGconn) -> Generator[Wait, Ready | int, pq.abc.PGresult]:
    """Read the next result; libpq says nothing between those of two statements."""
    while True:
        while pgconn.is_busy():
            if (yield Wait.R):
                pgconn.consume_input()
        result = pgconn.get_result()
        if result is not None:
            return result
        if pgconn.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError("the connection is lost")
