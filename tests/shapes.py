"""One database seen by programs of several versions, as before and after a deploy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support import config

from perdure import Memory
from perdure.core.entries import Caches
from perdure.core.shapes import MARK, Shape


def deployed(memory: Memory, version: int = 1, migrations: Any = None, **given: Any) -> Memory:
    """Return the memory that a new process with this version of the state has, on the same database."""
    return Memory(replace(memory._calls, caches=Caches(), shape=Shape.of(version, migrations), **given))


def stored(memory: Memory, thread: str = "t1", checkpoint: str | None = None) -> tuple[int, dict[str, Any]]:
    """Return the version and the channel values that the database holds, as they are."""
    raw = Memory(replace(memory._calls, caches=Caches(), shape=None))
    found = raw.checkpointer.get_tuple(config(thread, checkpoint)).checkpoint
    return found.get(MARK, 1), found["channel_values"]
