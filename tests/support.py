"""Checkpoints made by hand, for tests that call the saver as LangGraph would."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from langgraph.checkpoint.base.id import uuid6


def config(thread: Any = "t1", checkpoint: str | None = None, ns: str = "", **more: Any) -> Any:
    given = {"thread_id": thread, "checkpoint_ns": ns, **more}
    if checkpoint is not None:
        given["checkpoint_id"] = checkpoint
    return {"configurable": given}


def checkpoint(values: dict[str, Any] | None = None, versions: dict[str, Any] | None = None, **more: Any) -> Any:
    values = values or {}
    return {
        "v": 4,
        "id": str(uuid6(clock_seq=-1)),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": values,
        "channel_versions": versions if versions is not None else dict.fromkeys(values, 1),
        "versions_seen": {},
        "updated_channels": None,
        **more,
    }


def metadata(step: int = 0, source: str = "loop", **more: Any) -> Any:
    return {"source": source, "step": step, "parents": {}, **more}


def put(saver: Any, where: Any, values: dict[str, Any] | None = None, **more: Any) -> Any:
    """Put a checkpoint whose channels are all new; return the config that the saver gave back."""
    made = checkpoint(values, more.pop("versions", None), **more.pop("fields", {}))
    new = more.pop("new_versions", dict(made["channel_versions"]))
    return saver.put(where, made, metadata(**more), new)


def values_of(saver: Any, where: Any) -> Any:
    found = saver.get_tuple(where)
    return found.checkpoint["channel_values"] if found else None


def task() -> str:
    return str(uuid.uuid4())
