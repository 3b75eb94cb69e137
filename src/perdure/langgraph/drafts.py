"""Drafts: LangGraph's arguments, checked and encoded before a transaction begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata

from perdure import errors
from perdure.core import checkpoints, ids, writes
from perdure.core.codec import Codec, describe_exception
from perdure.core.entries import Caches
from perdure.core.records import Record
from perdure.core.values import Encoder
from perdure.langgraph import titles
from perdure.langgraph.configs import is_addressed, metadata_of
from perdure.model import Address

__all__ = ["of_checkpoint", "of_writes"]

_SCALARS = {str, int, float, bool, type(None)}
_NAMED = {"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"}


def of_checkpoint(  # noqa: PLR0913 - LangGraph's four arguments and ours
    codec: Codec,
    caches: Caches,
    address: Address,
    *,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    new_versions: ChannelVersions,
) -> checkpoints.Draft:
    """Return the draft of a checkpoint. Raises UnsupportedValueError with the path of a value that can't be kept."""
    cache = caches.last(address.tenant, address.thread)
    encoder = Encoder(codec, cache)
    values: dict[str, Any] = checkpoint["channel_values"]
    found = metadata_of(config, metadata)
    if any(type(value) not in _SCALARS for value in found.values()):
        codec.pack(found, "$.metadata")
    root = not address.ns
    new_thread = root and found.get("step", 0) in {-1, 0}
    return checkpoints.Draft(
        address=address,
        record=_record(checkpoint, found),
        trees={name: encoder.value(values[name], name, f"$.{name}") for name in new_versions if name in values},
        made=encoder.made,
        cache=cache,
        encode=lambda name: encoder.value(values[name], name, f"$.{name}"),
        others=tuple(name for name in values if name not in new_versions),
        read=caches.sighted(address.tenant, address.thread, root=root),
        run=_run(found.get("run_id")),
        addressed=is_addressed(config),
        turns=checkpoints.turns_of(found) if root else 0,
        title=titles.first_words(values) if new_thread else None,
    )


def _run(named: object) -> str | None:
    """Return the id of a run, None if it is none that `delete_for_runs` takes."""
    try:
        return ids.check(named, "run_id")
    except errors.InvalidIdError:
        return None


def _record(checkpoint: Checkpoint, metadata: dict[str, Any]) -> Record:
    given = cast("dict[str, Any]", checkpoint)
    return Record(
        id=ids.check(checkpoint["id"], "checkpoint['id']"),
        v=checkpoint["v"],
        ts=checkpoint["ts"],
        versions=dict(checkpoint["channel_versions"]),
        seen={node: dict(known) for node, known in checkpoint["versions_seen"].items()},
        updated=checkpoint.get("updated_channels"),
        metadata=metadata,
        extras={key: value for key, value in given.items() if key not in _NAMED},
    )


def of_writes(
    codec: Codec,
    caches: Caches,
    address: Address,
    given: Sequence[tuple[str, Any]],
    *,
    task: str,
    path: str,
) -> writes.Draft:
    """Return the draft of a task's writes. Raises UnsupportedValueError, InvalidIdError."""
    if address.checkpoint is None:
        raise errors.InvalidIdError("put_writes needs the checkpoint_id that the writes belong to in its config")
    cache = caches.last(address.tenant, address.thread)
    encoder = Encoder(codec, cache)
    named = [(WRITES_IDX_MAP.get(channel, at), channel, _kept(value)) for at, (channel, value) in enumerate(given)]
    channels = {channel for _, channel, _ in named}
    return writes.Draft(
        address=address,
        task=ids.check(task, "task_id"),
        path=path,
        items=[(at, channel, encoder.value(value, channel, f"$.{channel}")) for at, channel, value in named],
        made=encoder.made,
        cache=cache,
        inline=lambda: [writes.Write(at, channel, codec.pack(value)) for at, channel, value in named],
        status=checkpoints.status_of(channels) if channels & {"__interrupt__", "__error__"} else None,
    )


def _kept(value: object) -> object:
    """Return a write's value; an exception, which no store can give back, as its type and text."""
    return describe_exception(value) if isinstance(value, BaseException) else value
