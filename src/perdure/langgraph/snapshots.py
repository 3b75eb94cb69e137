"""Snapshots: stored checkpoints as LangGraph wants them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple, DeltaChannelHistory, PendingWrite

from perdure import errors
from perdure.core import shapes
from perdure.core.codec import Codec
from perdure.core.decoding import Decoder
from perdure.core.entries import Slot
from perdure.core.lookups import Found
from perdure.core.shapes import Shape
from perdure.langgraph.configs import config_of
from perdure.model import Address

__all__ = ["delta_history", "tuple_of"]


def tuple_of(
    codec: Codec,
    found: Found,
    given: RunnableConfig | None,
    pool: dict[Slot, Slot] | None = None,
    *,
    shape: Shape | None = None,
) -> CheckpointTuple:
    """Decode a checkpoint, as a state of the shape's version. Raises a StoredValueError that names the thread."""
    record, address = found.record, found.address
    migrated = shape if shape is not None and _is_older(shape, found) else None
    own = migrated is not None  # a migration may change what it is given: nobody else has it
    shared = not own and pool is None and _is_of_run(given)
    decoder = Decoder(codec, found.cache, str(address), shared=shared, pool=None if own else pool)
    values = {name: decoder.value(packed) for name, packed in record.channels.items()}
    pending = _pending(decoder, found)
    state = shapes.State(values, record.versions, record.seen, record.updated)
    if migrated is not None:
        latest = _is_latest(given, pool)
        writes = {name for _, name, _ in pending if latest and not shapes.is_internal(name)}
        inputs = shapes.written(values) if latest or _is_of_run(given) else set()
        state = _migrated(codec, migrated, found, values, writes, inputs)
    checkpoint = {
        "v": record.v,
        "id": record.id,
        "ts": record.ts,
        "channel_values": state.values,
        "channel_versions": state.versions,
        "versions_seen": state.seen,
        "updated_channels": state.updated,
        **{name: value for name, value in record.extras.items() if shape is None or name != shapes.MARK},
    }
    parent = Address(address.tenant, address.thread, address.ns, found.parent_id) if found.parent_id else None
    return CheckpointTuple(
        config=config_of(address, given),
        checkpoint=cast("Checkpoint", checkpoint),
        metadata=cast("Any", record.metadata),
        parent_config=config_of(parent, given) if parent else None,
        pending_writes=pending,
    )


def _is_older(shape: Shape, found: Found) -> bool:
    """Whether a checkpoint of the graph itself needs migrations. Raises StateVersionError if they are not there."""
    return not found.address.ns and bool(shapes.steps(shape, found.record, str(found.address)))


def _is_latest(given: RunnableConfig | None, pool: object) -> bool:
    """Whether a thread's newest checkpoint is asked for: what its finished tasks wrote goes into the next one."""
    return pool is None and not ((given or {}).get("configurable") or {}).get("checkpoint_id")


def _migrated(
    codec: Codec, shape: Shape, found: Found, values: dict[str, Any], writes: set[str], inputs: set[str]
) -> shapes.State:
    """Apply migrations. Raises StateVersionError if they change a channel that is about to be written in the old shape.

    `writes`: channels that finished tasks have written; `inputs`: those that a run was given.
    """
    where, ahead = str(found.address), writes | inputs
    state = shapes.migrate(shape, found.record, values, where=where, pack=codec.pack if ahead else None)
    changed = sorted(ahead - state.kept)
    if not changed:
        return state
    stored = shapes.version_of(found.record.extras, where)
    what = "a finished task has written" if changed[0] in writes else "the input of a run gives"
    raise errors.StateVersionError(
        f"{where} stopped in the middle of a step: {what} {changed[0]!r}, in the shape of version {stored}, to a state "
        "that is still to be made, and migrations change made states only. Let the code of that version finish the "
        "step, or go on from a checkpoint before it: memory.threads.fork(thread_id, new_thread_id, checkpoint_id=…)",
        stored=stored,
        opened=shape.version,
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


def delta_history(
    codec: Codec, ancestors: list[Found], channels: Sequence[str], *, shape: Shape | None = None
) -> Mapping[str, DeltaChannelHistory]:
    """Return, for each channel, the nearest stored value and the writes that came after it, oldest first."""
    history: dict[str, DeltaChannelHistory] = {}
    older = [_older_values(codec, ancestor, shape) for ancestor in ancestors]
    for channel in channels:
        found: list[list[PendingWrite]] = []
        entry: DeltaChannelHistory = {"writes": []}
        for ancestor, migrated in zip(ancestors, older, strict=True):
            decoder = Decoder(codec, ancestor.cache, str(ancestor.address))
            found.append(_pending(decoder, ancestor, channel))
            if channel in (ancestor.record.channels if migrated is None else migrated):
                entry["seed"] = (
                    decoder.value(ancestor.record.channels[channel]) if migrated is None else migrated[channel]
                )
                break
        entry["writes"] = [write for step in reversed(found) for write in step]
        history[channel] = entry
    return history


def _older_values(codec: Codec, found: Found, shape: Shape | None) -> dict[str, Any] | None:
    """Return the values of a checkpoint as migrations leave them, None if it needs none."""
    if shape is None or not _is_older(shape, found):
        return None
    decoder = Decoder(codec, found.cache, str(found.address))
    values = {name: decoder.value(packed) for name, packed in found.record.channels.items()}
    return shapes.migrate(shape, found.record, values, where=str(found.address)).values
