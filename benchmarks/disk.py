"""What the disk itself can do: syncs per second, and one durable commit of SQLite."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Generator
from pathlib import Path

import apsw

__all__ = ["commit_ms", "play", "syncs_per_second"]


def syncs_per_second(folder: Path, seconds: float = 0.5) -> float:
    """Append 4 kB and `fdatasync`, again and again; return how often that went in a second."""
    path = folder / "syncs"
    block = random.Random(1).randbytes(4096)
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        os.write(file, block)
        os.fdatasync(file)
        count += 1
    spent = time.perf_counter() - start
    os.close(file)
    path.unlink()
    return count / spent


def commit_ms(connection: apsw.Connection, count: int = 50) -> float:
    """Commit rows of 2 kB, one at a time; return the milliseconds each took."""
    blob = random.Random(2).randbytes(2048)
    start = time.perf_counter()
    for _ in range(count):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows (blob) VALUES (?)", (blob,))
        connection.execute("COMMIT")
    return (time.perf_counter() - start) * 1000 / count


def play(folder: Path) -> Generator[float | None, str, None]:
    """Measure "commit" in milliseconds or "syncs" per second."""
    connection = apsw.Connection(str(folder / "commits.db"))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", 2)
    connection.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, blob BLOB)")
    question = yield None
    while True:
        question = yield commit_ms(connection) if question == "commit" else syncs_per_second(folder)
