"""A stock saver's SQLite file, opened in a process of its own.

Two SQLite libraries must not have one file open in one process, and the program that moves threads has its own: so
this runs as a program, with the library that the stock savers use. It is asked and answers in frames: four bytes of
length, then MessagePack.
"""

from __future__ import annotations

import importlib
import sqlite3
import struct
import sys
from typing import IO, Any
from urllib.parse import quote

import ormsgpack

__all__ = ["read_frame", "write_frame"]

_LENGTH = struct.Struct(">I")
_PATIENCE = 30


def write_frame(stream: IO[bytes], content: object) -> None:
    """Write one frame and send it off."""
    data = ormsgpack.packb(content)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> Any:
    """Return the content of the next frame. Raises EOFError where there is none."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    size = _LENGTH.unpack(head)[0]
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return ormsgpack.unpackb(data)


def _connect(path: str, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(path)}?mode={mode}", uri=True, isolation_level=None, timeout=_PATIENCE)


def _answer(connection: sqlite3.Connection, asked: list[Any]) -> object:
    what, *rest = asked
    if what == "rows":
        sql, params = rest
        return connection.execute(sql, params).fetchall()
    if what == "many":
        sql, rows = rest
        return connection.executemany(sql, rows).rowcount
    module, name = {
        "saver": ("langgraph.checkpoint.sqlite", "SqliteSaver"),
        "store": ("langgraph.store.sqlite", "SqliteStore"),
    }[rest[0]]
    getattr(importlib.import_module(module), name)(connection).setup()
    return None


def _serve(connection: sqlite3.Connection) -> None:
    while True:
        try:
            asked = read_frame(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: list[Any] = [True, _answer(connection, asked)]
        except ImportError:
            answer = [False, "ImportError", "langgraph-checkpoint-sqlite"]
        except (sqlite3.Error, OverflowError) as error:
            answer = [False, type(error).__name__, str(error)]
        write_frame(sys.stdout.buffer, answer)


def main() -> None:
    """Open the file that the arguments name, and answer until nobody asks any more."""
    path, mode = sys.argv[1:]
    try:
        connection = _connect(path, mode)
    except sqlite3.Error as error:
        write_frame(sys.stdout.buffer, [False, type(error).__name__, str(error)])
        return
    write_frame(sys.stdout.buffer, [True, None])
    try:
        _serve(connection)
    finally:
        connection.close()


if __name__ == "__main__":
    main()
