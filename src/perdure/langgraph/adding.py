"""Adding messages to a thread: LangGraph's rule for them, when it can't be, and what it counts as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast
from uuid import uuid4

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph.message import add_messages

from perdure import errors
from perdure.core import checkpoints, ids, lookups, shapes
from perdure.core.conversations import marks
from perdure.core.values import renamed
from perdure.langgraph.configs import ambient
from perdure.model import Address

__all__ = ["checked", "checked_channel", "differ", "merged", "metadata", "refuse_inside", "refuse_waiting"]

_OVER: Final = {"__error__", "__error_source_node__", "__no_writes__"}
"""What a run that failed leaves behind and no later step needs."""


def checked(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return messages as a list of their own. Raises InvalidInputError for a single one, or a dict that may be one."""
    if isinstance(messages, str | BaseMessage | Mapping) or not isinstance(messages, Iterable):
        raise errors.InvalidInputError(
            f"messages is a list of messages, not {type(messages).__name__}; add_message adds one"
        )
    return list(messages)


def checked_channel(name: object) -> str:
    """Return the name of a channel that may be a history. Raises InvalidIdError."""
    channel = ids.check(name, "channel")
    if shapes.is_internal(channel):
        raise errors.InvalidIdError(
            f"channel {channel!r} is LangGraph's own; name one of the state's, whose reducer is add_messages"
        )
    return channel


def merged(old: list[BaseMessage], new: list[BaseMessage]) -> list[BaseMessage]:
    """Return the list that LangGraph makes of both. Raises InvalidInputError."""
    # The reducer names messages in place; those of the state are the process's own, and may be in a run just now.
    named = [renamed(message, str(uuid4())) if message.id is None else message for message in old]
    try:
        return cast("list[BaseMessage]", add_messages(named, new))  # type: ignore[arg-type]
    except (ValueError, NotImplementedError) as error:
        raise errors.InvalidInputError(f"these messages can't be added: {error}") from error


def differ(old: list[BaseMessage], new: list[BaseMessage]) -> bool:
    """Tell whether two lists differ in any message."""
    return len(old) != len(new) or not all(map(_same, old, new))


def _same(old: BaseMessage, new: BaseMessage) -> bool:
    # Their text tells 1 from true, which are equal.
    return old is new or (type(old) is type(new) and old == new and repr(old) == repr(new))


def refuse_inside(address: Address) -> None:
    """Raise ConflictError in a node of a run of the thread itself, whose next step would leave the messages behind."""
    configurable = ambient()
    runs = any(key.startswith("__pregel_") for key in configurable)
    if runs and (configurable.get("thread_id"), configurable.get("tenant_id")) in {
        (address.thread, None),
        (address.thread, address.tenant),
    }:
        raise errors.ConflictError(
            f"this is part of a run of {address}, whose next step would leave behind what is added to its history; "
            "nothing was stored. Let the node return the messages"
        )


def refuse_waiting(address: Address, found: lookups.Found | None) -> None:
    """Raise ConflictError if a checkpoint has writes that would be lost if another one followed it."""
    channels = {write.channel for _, _, write in found.writes} if found else set()
    if "__interrupt__" in channels:
        raise errors.ConflictError(
            f"{address} waits for the answer to an interrupt, which adding messages would lose; nothing was stored. "
            "Resume the graph with Command(resume=…), or change its state with the graph's update_state"
        )
    if channels - _OVER:
        raise errors.ConflictError(
            f"{address} has a run that is under way, or stopped half done: some of its tasks have ended, and adding "
            "messages would lose what they wrote; nothing was stored. Let it end, or resume it: invoke(None, config)"
        )


def metadata(found: lookups.Found | None, old: list[BaseMessage], merged: list[BaseMessage]) -> dict[str, Any]:
    """Return what LangGraph's update_state would say of such a checkpoint, and how many turns it adds."""
    before = found.record.metadata if found else {}
    known = {message.id for message in old}
    turns = sum(
        isinstance(message, HumanMessage) and message.id not in known and marks.kind_of(message) is None
        for message in merged
    )
    made = {"source": "update", "step": before.get("step", -1) + 1, "parents": before.get("parents", {})}
    kept = {name: before[name] for name in ("counters_since_delta_snapshot",) if name in before}
    return {**made, **kept, **({checkpoints.TURNS: turns} if turns else {})}
