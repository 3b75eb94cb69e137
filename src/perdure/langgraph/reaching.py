"""Reaching a store, LangGraph's or ours, by its blocking or its async names, so that a flow is written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from langgraph.store.base import BaseStore, Item, SearchItem

from perdure.langgraph.contexts import Labels

__all__ = ["Awaited", "Direct", "Reach"]

Function = Callable[[dict[str, Any]], dict[str, Any]]


class Reach(Protocol):
    """How a flow reaches a store; `options` are those of the store's methods."""

    async def get(self, namespace: Labels, key: str) -> Item | None:
        """Return an item."""

    async def search(self, prefix: Labels, **options: Any) -> list[SearchItem]:
        """Return the items below a prefix."""

    async def put(self, namespace: Labels, key: str, value: dict[str, Any], **options: Any) -> None:
        """Store an item."""

    async def update(self, namespace: Labels, key: str, fn: Function, **options: Any) -> None:
        """Change an item of our own store."""

    async def delete(self, namespace: Labels, key: str) -> None:
        """Remove an item."""


class Direct:
    """Calls that block, for `drive`."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def get(self, namespace: Labels, key: str) -> Item | None:
        """Return an item."""
        return self._store.get(namespace, key)

    async def search(self, prefix: Labels, **options: Any) -> list[SearchItem]:
        """Return the items below a prefix."""
        return self._store.search(prefix, **options)

    async def put(self, namespace: Labels, key: str, value: dict[str, Any], **options: Any) -> None:
        """Store an item."""
        self._store.put(namespace, key, value, **options)

    async def update(self, namespace: Labels, key: str, fn: Function, **options: Any) -> None:
        """Change an item of our own store."""
        ours: Any = self._store
        ours.update(namespace, key, fn, **options)

    async def delete(self, namespace: Labels, key: str) -> None:
        """Remove an item."""
        self._store.delete(namespace, key)


class Awaited:
    """Calls that are awaited."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def get(self, namespace: Labels, key: str) -> Item | None:
        """Return an item."""
        return await self._store.aget(namespace, key)

    async def search(self, prefix: Labels, **options: Any) -> list[SearchItem]:
        """Return the items below a prefix."""
        return await self._store.asearch(prefix, **options)

    async def put(self, namespace: Labels, key: str, value: dict[str, Any], **options: Any) -> None:
        """Store an item."""
        await self._store.aput(namespace, key, value, **options)

    async def update(self, namespace: Labels, key: str, fn: Function, **options: Any) -> None:
        """Change an item of our own store."""
        ours: Any = self._store
        await ours.aupdate(namespace, key, fn, **options)

    async def delete(self, namespace: Labels, key: str) -> None:
        """Remove an item."""
        await self._store.adelete(namespace, key)
