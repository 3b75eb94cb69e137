"""Heads: a thread's newest checkpoint, its state as this program's version of it, and the checkpoint that follows."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.base.id import uuid6

from perdure.core import checkpoints, histories, shapes, threads
from perdure.core.decoding import Decoder
from perdure.core.lookups import Found
from perdure.core.threads import State
from perdure.langgraph import adding, drafts, snapshots
from perdure.langgraph.calls import Calls, Make
from perdure.langgraph.saver import Saver
from perdure.model import Address

__all__ = ["Head", "look"]

_VERSION: Final = 4
"""The form of checkpoints that LangGraph writes now; a thread that is there keeps its own."""


@dataclass(frozen=True, slots=True)
class Head:
    """What was seen of a thread. `checkpoint` has no id and time; there may be none that it stands for."""

    calls: Calls
    address: Address
    state: State | None
    found: Found | None
    checkpoint: Mapping[str, Any]

    def messages(self, channel: str) -> list[BaseMessage]:
        """Return the messages of a channel. Raises InvalidInputError if it holds something else."""
        values = self.checkpoint["channel_values"]
        if channel not in values and channel not in self.checkpoint["channel_versions"]:
            return []
        value = values.get(channel)
        if type(value) is not list or not all(isinstance(message, BaseMessage) for message in value):
            raise histories.unreadable(str(self.address), channel)
        return value

    @property
    def after(self) -> Address:
        """Where a checkpoint that follows this one is put."""
        mine = self.address
        return Address(mine.tenant, mine.thread, "", self.found.record.id if self.found else None, mine.subject)

    def follow(self, channel: str, old: list[BaseMessage], merged: list[BaseMessage]) -> Make:
        """Return what puts a checkpoint with other messages if the thread is still as it was seen."""
        calls, state, address = self.calls, self.state, self.after
        made, version = self._next(channel, merged)
        metadata = adding.metadata(self.found, old, merged)

        def make(careful: bool) -> Callable[..., Any]:  # noqa: FBT001 - as the saver's
            draft = drafts.of_checkpoint(
                calls.codec,
                calls.caches,
                address,
                config={},
                checkpoint=made,
                metadata=cast("Any", metadata),
                new_versions={channel: version},
            )
            draft.careful = careful
            draft.seen = (state.generation, state.revision) if state else (0, 0)
            if calls.shape is not None:
                shapes.mark(draft.record, calls.shape.version)
            return lambda unit: checkpoints.put(unit, calls.codec, draft)

        return make

    def _next(self, channel: str, merged: list[BaseMessage]) -> tuple[Checkpoint, Any]:
        versions = dict(self.checkpoint["channel_versions"])
        newest = max(versions.values()) if versions else None
        version = versions[channel] = Saver(self.calls).get_next_version(newest, None)
        made = {
            **self.checkpoint,
            "id": str(uuid6(clock_seq=-2)),
            "ts": threads.moment(self.calls.clock()).isoformat(),
            "channel_values": ChainMap({channel: merged}, self.checkpoint["channel_values"]),
            "channel_versions": versions,
            "updated_channels": None,
        }
        return cast("Checkpoint", made), version


def look(calls: Calls, address: Address, state: State | None, found: Found | None, *, shared: bool = False) -> Head:
    """Return what was seen of a thread. `shared`: its messages are the process's own objects, to be stored again.

    Raises StateVersionError and what else migrations may raise.
    """
    shape = calls.shape
    if found is None:
        made: Mapping[str, Any] = {"v": _VERSION, "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
    elif shape is not None and shapes.steps(shape, found.record, str(address)):
        made = cast("Mapping[str, Any]", snapshots.tuple_of(calls.codec, found, None, shape=shape).checkpoint)
    else:
        record = found.record
        values = _Values(record.channels, Decoder(calls.codec, found.cache, str(address), shared=shared))
        made = {"v": record.v, "channel_values": values, "channel_versions": record.versions}
        made = {**made, "versions_seen": record.seen, **record.extras}
    return Head(calls, address, state, found, made)


class _Values(Mapping[str, Any]):
    """The channels of a checkpoint, decoded only if somebody asks: those that don't change are taken over as bytes."""

    def __init__(self, packed: Mapping[str, bytes], decoder: Decoder) -> None:
        self._packed = packed
        self._decoder = decoder

    def __getitem__(self, name: str) -> Any:
        return self._decoder.value(self._packed[name])

    def __contains__(self, name: object) -> bool:
        return name in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)
