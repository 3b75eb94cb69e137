"""What the first bytes of a SQLite file and of its log say, read without disturbing anybody.

The formats are SQLite's own: https://sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

__all__ = ["Header", "Log", "read", "read_log"]

_HEAD = 112
_LOG_HEAD = 32
_FRAME_HEAD = 24
_JOURNAL = bytes.fromhex("d9d505f920a163d7")


@dataclass(frozen=True, slots=True)
class Header:
    """The database as its newest committed first page describes it. `is_empty`: it has no tables."""

    is_sqlite: bool
    page_size: int = 0
    page_count: int = 0
    version: int = 0
    owner: int = 0
    is_empty: bool = False


@dataclass(slots=True)
class Log:
    """A write-ahead log: the numbers of the pages that are committed in it, and the newest first page."""

    pages: set[int] = field(default_factory=set)
    page_count: int = 0
    first: bytes | None = None


def read(path: Path, vfs: str | None, log: Log | None) -> Header | None:
    """Return what the header says, with what the log adds to it; None if there is nothing, or soon will be."""
    with _opened(path, vfs) as file:
        head = file.xRead(_HEAD, 0)
    if not head:
        return None
    if log and log.first:
        head = log.first
    if len(head) < _HEAD or head[:16] != b"SQLite format 3\0":
        return None if _was_empty(path, vfs) else Header(is_sqlite=False)
    (size,) = struct.unpack(">H", head[16:18])
    (count,) = struct.unpack(">I", head[28:32])
    version, _, owner = struct.unpack(">III", head[60:72])
    return Header(
        is_sqlite=True,
        page_size=65536 if size == 1 else size,
        page_count=log.page_count if log and log.page_count else count,
        version=version,
        owner=owner,
        is_empty=head[100] == 0x0D and head[103:105] == b"\0\0",
    )


def read_log(path: Path, vfs: str | None) -> Log | None:
    """Return what the log of a database holds; None if there is none or it is empty."""
    name = path.with_name(path.name + "-wal")
    if not name.is_file() or not name.stat().st_size:
        return None
    with _opened(name, vfs) as file:
        head = file.xRead(_LOG_HEAD, 0)
        return _frames(file, head) if len(head) == _LOG_HEAD else Log()


def _was_empty(path: Path, vfs: str | None) -> bool:
    """Whether a journal says that the file was empty before a write to it was cut off, and will be so again."""
    name = path.with_name(path.name + "-journal")
    if not name.is_file() or not name.stat().st_size:
        return False
    with _opened(name, vfs) as file:
        head = file.xRead(28, 0)
    return head[:8] == _JOURNAL and head[16:20] == bytes(4)


def _frames(file: apsw.VFSFile, head: bytes) -> Log:
    """Go through the frames up to the first one of an earlier round of the log, whose salt is another."""
    log = Log()
    (size,) = struct.unpack(">I", head[8:12])
    pending: dict[int, int] = {}
    at = _LOG_HEAD
    while len(frame := file.xRead(_FRAME_HEAD, at)) == _FRAME_HEAD and frame[8:16] == head[16:24]:
        page, committed = struct.unpack(">II", frame[:8])
        pending[page] = at + _FRAME_HEAD
        if committed:
            log.pages |= pending.keys()
            log.page_count = committed
            log.first = file.xRead(_HEAD, pending[1]) if 1 in pending else log.first
            pending.clear()
        at += _FRAME_HEAD + size
    return log


@contextmanager
def _opened(path: Path, vfs: str | None) -> Iterator[apsw.VFSFile]:
    """Open a file in SQLite's own way: closing it in another would drop the locks this process has on it."""
    file = apsw.VFSFile(vfs or "", os.fspath(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        yield file
    finally:
        file.xClose()
