"""Snapshots: stored checkpoints as LangGraph wants them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple, DeltaChannelHistory, PendingWrite

from perdure.core.codec import Codec
from perdure.core.decoding import Decoder
from perdure.core.entries import Slot
from perdure.core.lookups import Found
from perdure.langgraph.configs import config_of
from perdure.model import Address

__all__ = ["delta_history", "tuple_of"]


def tuple_of(
    codec: Codec, found: Found, given: RunnableConfig | None, pool: dict[Slot, Slot] | None = None
) -> CheckpointTuple:
    """Decode a checkpoint. Raises a StoredValueError that names the thread for what can't be read."""
    record, address = found.record, found.address
    decoder = Decoder(codec, found.cache, str(address), shared=pool is None and _is_of_run(given), pool=pool)
    checkpoint = {
        "v": record.v,
        "id": record.id,
        "ts": record.ts,
        "channel_values": {name: decoder.value(packed) for name, packed in record.channels.items()},
        "channel_versions": record.versions,
        "versions_seen": record.seen,
        "updated_channels": record.updated,
        **record.extras,
    }
    parent = Address(address.tenant, address.thread, address.ns, found.parent_id) if found.parent_id else None
    return CheckpointTuple(
        config=config_of(address, given),
        checkpoint=cast("Checkpoint", checkpoint),
        metadata=cast("Any", record.metadata),
        parent_config=config_of(parent, given) if parent else None,
        pending_writes=_pending(decoder, found),
    )


def _is_of_run(given: RunnableConfig | None) -> bool:
    """Whether a config is that of a graph's run, which carries LangGraph's own keys."""
    return any(key.startswith("__pregel_") for key in (given or {}).get("configurable") or {})


def _pending(decoder: Decoder, found: Found, channel: str | None = None) -> list[PendingWrite]:
    return [
        (task, write.channel, decoder.value(write.packed))
        for _, task, write in found.writes
        if channel is None or write.channel == channel
    ]


def delta_history(codec: Codec, ancestors: list[Found], channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
    """Return, for each channel, the nearest stored value and the writes that came after it, oldest first."""
    history: dict[str, DeltaChannelHistory] = {}
    for channel in channels:
        found: list[list[PendingWrite]] = []
        entry: DeltaChannelHistory = {"writes": []}
        for ancestor in ancestors:
            decoder = Decoder(codec, ancestor.cache, str(ancestor.address))
            found.append(_pending(decoder, ancestor, channel))
            if channel in ancestor.record.channels:
                entry["seed"] = decoder.value(ancestor.record.channels[channel])
                break
        entry["writes"] = [write for step in reversed(found) for write in step]
        history[channel] = entry
    return history
