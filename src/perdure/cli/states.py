"""Checkpoints as the command line shows them: found by name, listed, told apart."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from perdure import errors
from perdure.cli.values import plain
from perdure.core import threads
from perdure.memory import Memory

__all__ = [
    "channels",
    "config_for",
    "cursor_of",
    "describe",
    "find",
    "history",
    "is_internal",
    "message_times",
    "next_nodes",
    "waiting",
]

_BACK = re.compile(r"-[1-9][0-9]{0,5}")
_BRANCH = "branch:to:"
_JOIN = re.compile(r"join:(?P<from>.+):(?P<to>[^:]+)")


def config_for(thread: str, ns: str | None = "", checkpoint: str | None = None) -> RunnableConfig:
    """Return the config that leads to a checkpoint, the latest if none is named; `ns` None: of all namespaces."""
    named = {"checkpoint_ns": ns, "checkpoint_id": checkpoint}
    return {"configurable": {"thread_id": thread, **{key: given for key, given in named.items() if given is not None}}}


def find(memory: Memory, thread: str, *, ns: str = "", name: str = "latest") -> CheckpointTuple:
    """Return a checkpoint by its id, as `latest`, or counted from the end as `-1`, `-2`. Raises NotFoundError."""
    if memory.threads.get(thread) is None:
        raise threads.missing(thread)
    if _BACK.fullmatch(name):
        back = int(name[1:])
        listed = list(memory.checkpointer.list(config_for(thread, ns), limit=back))
        found = listed[back - 1] if len(listed) == back else None
    else:
        found = memory.checkpointer.get_tuple(config_for(thread, ns, None if name == "latest" else name))
    if found is None:
        place = f" in namespace {ns!r}" if ns else ""
        raise errors.NotFoundError(
            f"thread {thread!r} has no checkpoint {name!r}{place}; 'perdure threads history' lists those there are"
        )
    return found


def history(memory: Memory, config: RunnableConfig, *, limit: int, cursor: str | None) -> list[CheckpointTuple]:
    """Return checkpoints, newest first, after the one that the cursor names. Raises InvalidCursorError."""
    if cursor is None:
        return list(memory.checkpointer.list(config, limit=limit))
    if "checkpoint_ns" in config["configurable"]:
        before = config_for(config["configurable"]["thread_id"], config["configurable"]["checkpoint_ns"], cursor)
        return list(memory.checkpointer.list(config, before=before, limit=limit))
    # Over all namespaces, what LangGraph calls "before" is not what comes after in the list.
    listed = memory.checkpointer.list(config)
    if not any(cursor_of(found.config["configurable"]) == cursor for found in listed):
        raise errors.InvalidCursorError("the cursor was not made by this listing; start again without one")
    return list(itertools.islice(listed, limit))


def cursor_of(about: Mapping[str, Any]) -> str:
    """Return the cursor that goes on after a checkpoint."""
    return str(about["checkpoint_id"])


def channels(found: CheckpointTuple) -> dict[str, Any]:
    """Return the values of the state's own channels, plain."""
    values = found.checkpoint["channel_values"]
    return {name: plain(value) for name, value in values.items() if not is_internal(name)}


def is_internal(channel: str) -> bool:
    """Tell whether a channel is LangGraph's own."""
    return channel.startswith(("__", "branch:", "join:"))


def next_nodes(found: CheckpointTuple) -> list[str]:
    """Return the nodes that are due after a checkpoint, as far as its channels tell without the graph."""
    values: Mapping[str, Any] = found.checkpoint["channel_values"]
    due = {node for name in values for node in _triggered(found, name)}
    tasks = values.get("__pregel_tasks") or []
    return sorted(due | {str(getattr(send, "node", "?")) for send in tasks})


def _triggered(found: CheckpointTuple, channel: str) -> Iterator[str]:
    joined = _JOIN.fullmatch(channel)
    if channel.startswith(_BRANCH):
        node = channel.removeprefix(_BRANCH)
    elif channel == "__start__":
        node = channel
    elif joined and set(joined["from"].split("+")) == found.checkpoint["channel_values"][channel]:
        node = joined["to"]
    else:
        return
    seen = found.checkpoint["versions_seen"].get(node, {}).get(channel)
    if found.checkpoint["channel_versions"].get(channel) != seen:
        yield node


def describe(found: CheckpointTuple) -> dict[str, Any]:
    """Return what a listing says of a checkpoint."""
    configurable, metadata = found.config["configurable"], found.metadata
    changed = found.checkpoint.get("updated_channels") or []
    pending = {channel for _, channel, _ in found.pending_writes or []}
    return {
        "checkpoint_id": configurable["checkpoint_id"],
        "checkpoint_ns": configurable["checkpoint_ns"],
        "step": metadata.get("step"),
        "source": metadata.get("source"),
        "next": next_nodes(found),
        "changed": [name for name in changed if not is_internal(name)],
        "interrupted": "__interrupt__" in pending,
        "failed": "__error__" in pending,
        "created_at": found.checkpoint["ts"],
    }


def waiting(found: CheckpointTuple) -> list[tuple[str, str, Any]]:
    """Return the (task, channel, value) of the interrupts and errors that a checkpoint's tasks ended with."""
    return [write for write in found.pending_writes or [] if write[1] in {"__interrupt__", "__error__"}]


def message_times(listed: list[CheckpointTuple]) -> dict[str, str]:
    """Return when messages came, by their ids: the time of the first checkpoint that holds them.

    Those in the oldest listed checkpoint are left out if it has a parent: they may be older.
    """
    times: dict[str, str] = {}
    for at, found in enumerate(reversed(listed)):
        when = "" if at == 0 and found.parent_config else found.checkpoint["ts"][:19].replace("T", " ")
        for value in found.checkpoint["channel_values"].values():
            for message in value if isinstance(value, list) else ():
                if isinstance(message, BaseMessage) and message.id:
                    times.setdefault(message.id, when)
    return {name: when for name, when in times.items() if when}
