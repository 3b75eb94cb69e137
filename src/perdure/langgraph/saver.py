"""The checkpointer: all of LangGraph's `BaseCheckpointSaver`, in both calling styles."""

from __future__ import annotations

import copy
import random
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from perdure import errors
from perdure.core import checkpoints, ids, lookups, pruning, shapes, threads, writes
from perdure.core.codec import Codec
from perdure.core.logs import Stored
from perdure.langgraph import configs, drafts, snapshots
from perdure.langgraph.calls import Calls, Make
from perdure.langgraph.listing import Listing
from perdure.langgraph.serde import CodecSerde
from perdure.model import Address

__all__ = ["Saver"]

T = TypeVar("T")
_STRATEGIES = ("keep_latest", "delete")


class Saver(BaseCheckpointSaver[str]):
    """Keeps the threads of a `Memory`. Made by it, as `memory.checkpointer`; safe to share."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(serde=CodecSerde(calls.codec))
        self._calls = calls

    @property
    def _codec(self) -> Codec:
        return self._calls.codec

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        address = self._address(config)
        return self._found(config, address, self._calls.read(address.tenant, self._get(address)))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        address = self._address(config)
        return self._found(config, address, await self._calls.aread(address.tenant, self._get(address)))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        listing = Listing(self._calls, config, filter=filter, before=before, limit=limit)
        return self._list(listing)

    def _list(self, listing: Listing) -> Iterator[CheckpointTuple]:
        while (tenant_work := listing.next()) is not None:
            yield from listing.take(self._calls.read(*tenant_work))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        listing = Listing(self._calls, config, filter=filter, before=before, limit=limit)
        while (tenant_work := listing.next()) is not None:
            for found in listing.take(await self._calls.aread(*tenant_work)):
                yield found

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        address = self._address(config)
        found = self._calls.read(address.tenant, self._history(address, channels)) if channels else []
        return snapshots.delta_history(self._codec, found, channels, shape=self._calls.shape)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        address = self._address(config)
        found = await self._calls.aread(address.tenant, self._history(address, channels)) if channels else []
        return snapshots.delta_history(self._codec, found, channels, shape=self._calls.shape)

    # Writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        address = self._address(config)
        make = self._put(address, config, checkpoint, metadata, new_versions)
        return self._saved(config, address, checkpoint, self._calls.store(address, make))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        address = self._address(config)
        make = self._put(address, config, checkpoint, metadata, new_versions)
        return self._saved(config, address, checkpoint, await self._calls.astore(address, make))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        address = self._address(config)
        self._calls.store(address, self._put_writes(address, writes, task_id, task_path))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        address = self._address(config)
        await self._calls.astore(address, self._put_writes(address, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        self._calls.write(*self._delete(thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._calls.awrite(*self._delete(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that runs have made.

        A saver sees a run's id only where the run's config names it as
        ``{"configurable": {"run_id": …}}`` or in its metadata; LangGraph tells it no other.
        """
        self._calls.write(*self._delete_runs(run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._calls.awrite(*self._delete_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._calls.write(*self._copy(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._calls.awrite(*self._copy(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        for tenant_work in self._prune(thread_ids, strategy):
            self._calls.write(*tenant_work)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        for tenant_work in self._prune(thread_ids, strategy):
            await self._calls.awrite(*tenant_work)

    # LangGraph's other questions

    def get_next_version(self, current: str | float | None, channel: None) -> Any:  # noqa: ARG002 - LangGraph's
        """Return a version after `current`, as wide as it, with a random tail that tells forks apart.

        A thread that came here with whole numbers goes on with them: LangGraph compares them with each other.
        """
        if isinstance(current, int):
            return current + 1
        head, width = "0", 32
        if current is not None:
            head = str(current).partition(".")[0]
            width = len(head) if isinstance(current, str) else 32
        return f"{int(head) + 1:0{width}}.{random.randrange(10**8):08}"  # noqa: S311 - tells apart, protects nothing

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Saver:  # noqa: ARG002
        """Return a copy. The list changes nothing: only registered types are ever decoded."""
        return copy.copy(self)

    # The work of each, written once

    def _address(self, config: RunnableConfig) -> Address:
        return configs.address(self._calls.scope, config)

    def _get(self, address: Address) -> Callable[..., Any]:
        return lambda unit: lookups.get(unit, self._codec, self._calls.caches, address)

    def _found(
        self, config: RunnableConfig, address: Address, result: tuple[int, lookups.Found | None]
    ) -> CheckpointTuple | None:
        generation, found = result
        self._calls.caches.sight(address.tenant, address.thread, generation, root=not address.ns)
        return snapshots.tuple_of(self._codec, found, config, shape=self._calls.shape) if found else None

    def _history(self, address: Address, channels: Sequence[str]) -> Callable[..., Any]:
        return lambda unit: lookups.history(unit, self._codec, self._calls.caches, address, [*channels])

    def _put(
        self,
        address: Address,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Make:
        def make(careful: bool) -> Callable[..., Any]:  # noqa: FBT001 - the one thing a second attempt does differently
            draft = drafts.of_checkpoint(
                self._codec,
                self._calls.caches,
                address,
                config=config,
                checkpoint=checkpoint,
                metadata=metadata,
                new_versions=new_versions,
            )
            draft.careful = careful
            if self._calls.shape is not None:
                shapes.mark(draft.record, self._calls.shape.version)
            return lambda unit: checkpoints.put(unit, self._codec, draft)

        return make

    def _saved(
        self, config: RunnableConfig, address: Address, checkpoint: Checkpoint, stored: Stored | None
    ) -> RunnableConfig:
        if stored is not None:
            self._calls.caches.sight(address.tenant, address.thread, stored.generation, root=not address.ns)
        saved = Address(address.tenant, address.thread, address.ns, checkpoint["id"])
        return configs.config_of(saved, config)

    def _put_writes(self, address: Address, given: Sequence[tuple[str, Any]], task: str, path: str) -> Make:
        def make(careful: bool) -> Callable[..., Any]:  # noqa: FBT001 - as above
            draft = drafts.of_writes(self._codec, self._calls.caches, address, given, task=task, path=path)
            draft.careful = careful
            return lambda unit: writes.put(unit, self._codec, draft)

        return make

    def _delete(self, thread_id: str) -> tuple[str, Callable[..., Any]]:
        thread = ids.check(thread_id, "thread_id")
        return self._calls.tenant(), lambda unit: threads.delete(unit, thread)

    def _delete_runs(self, run_ids: Sequence[str]) -> tuple[str, Callable[..., Any]]:
        runs = _each(run_ids, "run_ids")
        return self._calls.tenant(), lambda unit: pruning.delete_runs(unit, self._codec, runs)

    def _copy(self, source_id: str, target_id: str) -> tuple[str, Callable[..., Any]]:
        source, target = ids.check(source_id, "source_thread_id"), ids.check(target_id, "target_thread_id")
        return self._calls.tenant(), lambda unit: threads.copy(unit, source, target)

    def _prune(self, thread_ids: Sequence[str], strategy: str) -> Iterator[tuple[str, Callable[..., Any]]]:
        if strategy not in _STRATEGIES:
            raise errors.InvalidInputError(f"strategy must be one of {', '.join(_STRATEGIES)}, not {strategy!r}")
        for thread_id in _each(thread_ids, "thread_ids"):  # all are checked before the first goes
            if strategy == "delete":
                yield self._delete(thread_id)
            else:
                yield self._calls.tenant(), self._keep_latest(thread_id)

    def _keep_latest(self, thread: str) -> Callable[..., Any]:
        return lambda unit: pruning.keep_latest(unit, self._codec, thread)


def _each(given: Sequence[str], what: str) -> list[str]:
    """Return ids from a list of them. A string is no list of its letters."""
    if isinstance(given, str):
        raise errors.InvalidInputError(f"{what} is a list: [{given!r}]")
    return [ids.check(one, what) for one in given]
