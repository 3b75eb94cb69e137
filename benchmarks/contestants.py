"""Who is measured: Perdure, the savers that come with LangGraph, a saver that only keeps objects, and none."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks import adapter
from perdure import Memory

__all__ = ["LABELS", "KeepSaver", "count_commits", "open_saver"]

LABELS = {
    "perdure": "Perdure",
    "perdure-memory": "Perdure in memory",
    "sqlite": "SqliteSaver",
    "async-sqlite": "AsyncSqliteSaver",
    "sqlite-adapter": "SqliteSaver, adapter",
    "inmemory": "InMemorySaver",
    "keep": "keeps objects",
    "none": "no saver",
    "raw": "raw text",
    "disk": "the disk",
    "floor": "numpy + one query",
    "sqlite-store": "SqliteStore",
    "postgres-store": "PostgresStore",
}
"""What each contestant is called in tables."""


class KeepSaver(BaseCheckpointSaver[str]):
    """A saver that keeps Python objects and encodes nothing: what LangGraph itself costs with any saver."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
        self._writes: dict[tuple[str, str, str], list[Any]] = defaultdict(list)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:  # noqa: ARG002 - the interface
        given = config["configurable"]
        thread, ns = given["thread_id"], given["checkpoint_ns"]
        self._kept[thread, ns][checkpoint["id"]] = (checkpoint, metadata, given.get("checkpoint_id"))
        return _config(thread, ns, checkpoint["id"])

    def put_writes(self, config: Any, writes: Sequence[Any], task_id: str, task_path: str = "") -> None:  # noqa: ARG002
        given = config["configurable"]
        key = (given["thread_id"], given["checkpoint_ns"], given["checkpoint_id"])
        self._writes[key].extend((task_id, channel, value) for channel, value in writes)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        given = config["configurable"]
        thread, ns = given["thread_id"], given.get("checkpoint_ns", "")
        kept = self._kept[thread, ns]
        found = given.get("checkpoint_id") or (max(kept) if kept else None)
        if found is None or found not in kept:
            return None
        checkpoint, metadata, parent = kept[found]
        copy = {**checkpoint, "channel_values": dict(checkpoint["channel_values"])}
        before = _config(thread, ns, parent) if parent else None
        return CheckpointTuple(
            _config(thread, ns, found),
            copy,  # type: ignore[arg-type]
            metadata,
            before,
            list(self._writes[thread, ns, found]),
        )

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Sequence[Any], task_id: str, task_path: str = "") -> None:
        self.put_writes(config, writes, task_id, task_path)

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        return self.get_tuple(config)


def _config(thread: str, ns: str, checkpoint: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint}}


@contextmanager
def open_saver(name: str, path: Path, *, vfs: str | None = None, runner: asyncio.Runner | None = None) -> Iterator[Any]:
    """Open a contestant on a file; those that live in memory leave it alone. `vfs` is a slow disk's name."""
    if name == "perdure":
        with Memory.open(f"sqlite:///{path}" + (f"?vfs={vfs}" if vfs else "")) as memory:
            yield memory.checkpointer
    elif name == "perdure-memory":
        with Memory.open("sqlite://") as memory:
            yield memory.checkpointer
    elif name == "sqlite-adapter" or (name == "sqlite" and vfs):
        with closing(adapter.connect(path, vfs)) as connection:
            yield SqliteSaver(connection)  # type: ignore[arg-type]
    elif name == "sqlite":
        with SqliteSaver.from_conn_string(str(path)) as saver:
            yield saver
    elif name == "async-sqlite":
        assert runner is not None, "AsyncSqliteSaver belongs to an event loop"
        with entered(_async_stock(path, vfs), runner) as saver:
            yield saver
    else:
        yield {"inmemory": InMemorySaver, "keep": KeepSaver, "none": lambda: None}[name]()


@asynccontextmanager
async def _async_stock(path: Path, vfs: str | None) -> AsyncIterator[Any]:
    def connect() -> Any:
        return adapter.connect(path, vfs) if vfs else sqlite3.connect(path)

    async with aiosqlite.Connection(connect, 64) as connection:
        yield AsyncSqliteSaver(connection)


@contextmanager
def entered(manager: AbstractAsyncContextManager[Any], runner: asyncio.Runner) -> Iterator[Any]:
    async def enter() -> Any:
        return await manager.__aenter__()

    async def leave() -> Any:
        return await manager.__aexit__(None, None, None)

    entered = runner.run(enter())
    try:
        yield entered
    finally:
        runner.run(leave())


def count_commits(name: str, saver: Any, work: Callable[[], object]) -> int:
    """Return how many durable commits `work` makes."""
    seen: list[object] = []
    if name == "perdure":
        connection = saver._calls.engine._connection  # noqa: SLF001 - the only one that writes
        connection.set_commit_hook(lambda: bool(seen.append(None)))
        work()
        connection.set_commit_hook(None)
    elif name == "sqlite":
        saver.conn.set_trace_callback(lambda sql: seen.append(sql) if sql == "COMMIT" else None)
        work()
        saver.conn.set_trace_callback(None)
    return len(seen)
