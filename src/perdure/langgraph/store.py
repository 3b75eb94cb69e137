"""The store: all of LangGraph's `BaseStore`, in both calling styles."""

from __future__ import annotations

from collections.abc import Iterable

from langgraph.store.base import BaseStore, Op, Result

from perdure import errors
from perdure.langgraph.calls import Calls

__all__ = ["Store"]


class Store(BaseStore):
    """Keeps the items of a `Memory`. Made by it, as `memory.store`; safe to share."""

    supports_ttl = True

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise errors.NotAvailableError(f"items are not part of this release yet ({len(list(ops))} asked for)")

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return self.batch(ops)
