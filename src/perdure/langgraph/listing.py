"""Listings of checkpoints, page by page. Between pages no lock and no transaction is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from perdure.core import lookups, threads
from perdure.core.entries import Slot
from perdure.core.ids import check
from perdure.langgraph import configs, snapshots
from perdure.langgraph.calls import Calls
from perdure.model import Address, Page

__all__ = ["Listing"]

PAGE = 64
_TOP = 2**62
_LARGEST = 2**31


class Listing:
    """The state of one listing: `next` gives the work for its next page, `take` yields what came."""

    def __init__(
        self,
        calls: Calls,
        config: RunnableConfig | None,
        *,
        filter: Mapping[str, Any] | None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        self._calls = calls
        self._config = config
        self._filter = filter or {}
        self._left = None if limit is None else threads.check_limit(limit, largest=_LARGEST)
        self._before = _before(before)
        self._below = _TOP
        self._pool: dict[Slot, Slot] = {}
        self._cursor: str | None = None
        self._queue: list[Address] = []
        self._ended = self._left == 0
        self._all_threads = config is None
        if config is not None:
            self._queue = [configs.address(calls.scope, config)]
            self._all_spaces = (config.get("configurable") or {}).get("checkpoint_ns") is None
        else:
            self._all_spaces = True

    def next(self) -> tuple[str, Callable[..., Any]] | None:
        """Return the tenant and work of the next page, None at the end."""
        if self._ended:
            return None
        if self._queue:
            return self._queue[0].tenant, self._page(self._queue[0])
        return self._calls.tenant(), self._more_threads()

    def take(self, result: Page | tuple[int, list[lookups.Found]]) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of a page that match, newest first."""
        if isinstance(result, Page):
            self._queue = [Address(thread.tenant, thread.id) for thread in result.threads]
            self._cursor = result.cursor
            self._all_threads = result.cursor is not None
            self._ended = not self._queue
            return
        self._below, found = result
        for item in found:
            if lookups.metadata_matches(item.record.metadata, self._filter):
                yield snapshots.tuple_of(self._calls.codec, item, self._config, self._pool, shape=self._calls.shape)
                if self._left is not None:
                    self._left -= 1
                    if not self._left:
                        self._ended = True
                        return
        if not self._below:
            self._queue.pop(0)
            self._below = _TOP
            self._ended = not self._queue and not self._all_threads

    def _page(self, address: Address) -> Callable[..., Any]:
        calls, below = self._calls, self._below
        if address.checkpoint is not None:
            return lambda unit: self._one(unit, address)
        size = PAGE if self._left is None or self._filter or self._before else min(PAGE, self._left)
        return lambda unit: lookups.page(
            unit,
            calls.codec,
            calls.caches,
            address,
            all_spaces=self._all_spaces,
            below=below,
            limit=size,
            before=self._before,
        )

    async def _one(self, unit: Any, address: Address) -> tuple[int, list[lookups.Found]]:
        calls = self._calls
        found = await lookups.named(
            unit, calls.codec, calls.caches, address, all_spaces=self._all_spaces, before=self._before
        )
        return 0, found

    def _more_threads(self) -> Callable[..., Any]:
        cursor, subject = self._cursor, self._calls.scope.subject
        return lambda unit: threads.page(
            unit, subject=subject, status=None, tag=None, title=None, limit=threads.PAGE, cursor=cursor
        )


def _before(config: RunnableConfig | None) -> lookups.Before | None:
    configurable = (config or {}).get("configurable") or {}
    checkpoint = configurable.get("checkpoint_id")
    if not checkpoint:
        return None
    return lookups.Before(configurable.get("checkpoint_ns") or "", check(checkpoint, "before's checkpoint_id"))
