"""Adding messages to a thread: LangGraph's rule for them, and the checkpoint that holds what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from uuid import uuid4

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph.message import add_messages

from perdure import errors
from perdure.core import checkpoints, lookups, threads
from perdure.core.conversations import marks
from perdure.core.decoding import Decoder
from perdure.core.values import renamed
from perdure.langgraph.calls import Calls
from perdure.langgraph.saver import Saver
from perdure.model import Address

__all__ = ["Values", "checked", "checkpoint", "differ", "merged", "metadata", "refuse_waiting"]

_VERSION: Final = 4
"""The form of checkpoints that LangGraph writes now; a thread that is there keeps its own."""
_OVER: Final = {"__error__", "__error_source_node__", "__no_writes__"}
"""What a run that failed leaves behind and no later step needs."""


def checkpoint(
    calls: Calls, found: lookups.Found | None, channel: str, merged: list[BaseMessage]
) -> tuple[Checkpoint, Any]:
    """Return the checkpoint that follows the one found and holds other messages, and their version."""
    record = found.record if found else None
    versions = dict(record.versions) if record else {}
    newest: Any = max(versions.values()) if versions else None
    version = versions[channel] = Saver(calls).get_next_version(newest, None)
    made = {
        "v": record.v if record else _VERSION,
        "id": str(uuid6(clock_seq=-2)),
        "ts": threads.moment(calls.clock()).isoformat(),
        "channel_values": Values(calls, found, {channel: merged}),
        "channel_versions": versions,
        "versions_seen": record.seen if record else {},
        "updated_channels": None,
        **(record.extras if record else {}),
    }
    return cast("Checkpoint", made), version


class Values(Mapping[str, Any]):
    """The channels of a checkpoint, decoded only if somebody asks: those that don't change are taken over as bytes."""

    def __init__(self, calls: Calls, found: lookups.Found | None, new: dict[str, Any]) -> None:
        self._calls = calls
        self._found = found
        self._new = new

    def __getitem__(self, name: str) -> Any:
        if name in self._new or self._found is None:
            return self._new[name]
        decoder = Decoder(self._calls.codec, self._found.cache, str(self._found.address), shared=True)
        return decoder.value(self._found.record.channels[name])

    def __iter__(self) -> Iterator[str]:
        return iter({**(self._found.record.channels if self._found else {}), **self._new})

    def __len__(self) -> int:
        return len(list(iter(self)))


def checked(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return messages as a list of their own. Raises InvalidInputError for a single one."""
    if isinstance(messages, str | BaseMessage):
        raise errors.InvalidInputError("messages is a list of messages; add_message adds one")
    return list(messages)


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
