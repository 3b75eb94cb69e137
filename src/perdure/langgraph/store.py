"""The store: all of LangGraph's `BaseStore`, in both calling styles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, Unpack

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NamespacePath,
    NotProvided,
    Op,
    Result,
    SearchItem,
)

from perdure import errors
from perdure.core import items, namespaces
from perdure.engine import drive
from perdure.langgraph.arranging import Arranging
from perdure.langgraph.calls import Job
from perdure.langgraph.changing import Changing
from perdure.langgraph.keeping import Keeping
from perdure.langgraph.putting import Delete, Put, PutOptions
from perdure.langgraph.reindexing import Reindexing
from perdure.langgraph.running import Running
from perdure.langgraph.searching import Search, SearchOptions
from perdure.langgraph.styles import Awaiting, Blocking

__all__ = ["Store"]

Prefix = tuple[str, ...]
Index = Literal[False] | list[str] | None


class Store(Changing, Keeping, Arranging, Reindexing, Running, BaseStore):
    """Keeps the items of a `Memory`. Made by it, as `memory.store`; safe to share.

    Inside a run the tenant is the one that the run's config names. `ttl_config` may be set, as LangGraph describes
    it; what has expired is never returned, whatever it says.
    """

    supports_ttl = True

    # Many operations in one transaction, in the order given

    def batch(self, ops: Iterable[Op | Put | Delete | Search]) -> list[Result]:
        return drive(self._run(Blocking(self._calls), ops))

    async def abatch(self, ops: Iterable[Op | Put | Delete | Search]) -> list[Result]:
        return await self._run(Awaiting(self._calls), ops)

    # One operation

    def get(
        self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None, as_of: datetime | None = None
    ) -> Item | None:
        """Return an item, or None; `as_of` a moment: what it was then, as far as its policy has kept it."""
        if as_of is not None:
            return drive(self._then(Blocking(self._calls), namespace, key, as_of))
        found: Item | None = _one(self.batch([self._get(namespace, key, refresh_ttl)]))
        return found

    async def aget(
        self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None, as_of: datetime | None = None
    ) -> Item | None:
        """Do what `get` does."""
        if as_of is not None:
            return await self._then(Awaiting(self._calls), namespace, key, as_of)
        found: Item | None = _one(await self.abatch([self._get(namespace, key, refresh_ttl)]))
        return found

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[SearchItem]:
        """Return the items below a prefix that a query is about, the best first; without one, the newest first.

        ``mode`` is ``"hybrid"`` (words and vectors), ``"vector"`` or ``"text"``; ``min_score`` leaves out what scores
        less; ``weights={"recency": …, "importance": …}`` let these count too; ``explain=True`` sets each item's
        `explanation`; ``superseded`` and ``quarantined`` find those as well; ``as_of=`` a moment lists
        what items were then. See docs/reference/search.md.
        """
        op = Search(namespace_prefix, filter, limit, offset, query, refresh_ttl, options)
        found: list[SearchItem] = _one(self.batch([op]))
        return found

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[SearchItem]:
        """Do what `search` does."""
        op = Search(namespace_prefix, filter, limit, offset, query, refresh_ttl, options)
        found: list[SearchItem] = _one(await self.abatch([op]))
        return found

    def put(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Index = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
        **options: Unpack[PutOptions],
    ) -> None:
        """Store an item, in the place of the one with its key.

        ``if_version`` stores it only in the place of that version, ``if_absent=True`` only if there is none: else
        VersionConflictError is raised. ``expires_at`` is a moment in the place of a TTL. What else may be said is
        ``kind``, ``source``, ``confidence``, ``importance``, ``valid_from``, ``valid_to``,
        ``superseded_by`` and ``quarantined``, kept apart from the value; see `perdure.About`.
        """
        self.batch([self._put(namespace, key, value, index, ttl, options)])

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Index = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
        **options: Unpack[PutOptions],
    ) -> None:
        """Do what `put` does."""
        await self.abatch([self._put(namespace, key, value, index, ttl, options)])

    def delete(
        self, namespace: tuple[str, ...], key: str, *, if_version: int | None = None, purge: bool = False
    ) -> None:
        """Remove an item, if there is one; `purge`: with the versions that its history has.

        Raises VersionConflictError if it is not at `if_version`.
        """
        self.batch([Delete(namespace, key, if_version, purge)])

    async def adelete(
        self, namespace: tuple[str, ...], key: str, *, if_version: int | None = None, purge: bool = False
    ) -> None:
        """Do what `delete` does."""
        await self.abatch([Delete(namespace, key, if_version, purge)])

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = _one(
            self.batch([ListNamespacesOp(_conditions(prefix, suffix), max_depth, limit, offset)])
        )
        return found

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = _one(
            await self.abatch([ListNamespacesOp(_conditions(prefix, suffix), max_depth, limit, offset)])
        )
        return found

    # More than LangGraph asks for

    def count(self, namespace_prefix: tuple[str, ...] = ()) -> int:
        """Return how many items are in the namespaces with a prefix."""
        tenant, job = self._count(namespace_prefix)
        return self._calls.read(tenant, job)

    async def acount(self, namespace_prefix: tuple[str, ...] = ()) -> int:
        """Do what `count` does."""
        tenant, job = self._count(namespace_prefix)
        return await self._calls.aread(tenant, job)

    # The work of each, written once

    def _get(self, namespace: Prefix, key: str, refresh_ttl: bool | None) -> GetOp:  # noqa: FBT001 - LangGraph's field
        return GetOp(namespace, key, refresh_ttl)  # type: ignore[arg-type] # None: a policy, or the store, says

    def _put(
        self,
        namespace: Prefix,
        key: str,
        value: Mapping[str, Any],
        index: Index,
        ttl: float | NotProvided | None,
        options: PutOptions,
    ) -> Delete | Put:
        if value is None:
            if unmeant := sorted(set(options) - {"if_version"}):
                raise errors.InvalidInputError(f"a put of None removes the item, for which {unmeant[0]} means nothing")
            return Delete(namespace, key, options.get("if_version"))
        return Put(namespace, key, value, index, ttl).saying(options)

    def _count(self, prefix: Prefix) -> tuple[str, Job[int]]:
        labels = namespaces.check_path(prefix, "namespace prefix")
        return self._tenant(), lambda unit: items.count(unit, labels)


def _one(results: list[Result]) -> Any:
    return results[0]


def _conditions(prefix: NamespacePath | None, suffix: NamespacePath | None) -> tuple[MatchCondition, ...]:
    given = (("prefix", prefix), ("suffix", suffix))
    return tuple(MatchCondition(kind, path) for kind, path in given if path is not None)  # type: ignore[arg-type]
