"""The store: all of LangGraph's `BaseStore`, in both calling styles."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
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
    PutOp,
    Result,
    SearchItem,
    TTLConfig,
)

from perdure import errors
from perdure.core import items, namespaces
from perdure.core.search.finding import OutdatedIndexError
from perdure.core.search.scores import Mode
from perdure.engine import drive
from perdure.langgraph import embedding
from perdure.langgraph import ops as operations
from perdure.langgraph.arranging import Arranging
from perdure.langgraph.calls import Calls, Job
from perdure.langgraph.configs import ambient
from perdure.langgraph.putting import Put, PutOptions, Setting
from perdure.langgraph.reindexing import Reindexing
from perdure.langgraph.searching import Search, SearchOptions
from perdure.langgraph.styles import Awaiting, Blocking, Style

__all__ = ["Store"]

_log = logging.getLogger(__name__)
_ATTEMPTS = 3
Prefix = tuple[str, ...]
Index = Literal[False] | list[str] | None


class Store(Arranging, Reindexing, BaseStore):
    """Keeps the items of a `Memory`. Made by it, as `memory.store`; safe to share.

    Inside a run the tenant is the one that the run's config names. `ttl_config` may be set, as LangGraph describes
    it; what has expired is never returned, whatever it says.
    """

    supports_ttl = True
    ttl_config: TTLConfig | None = None

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    # Many operations in one transaction, in the order given

    def batch(self, ops: Iterable[Op | Put | Search]) -> list[Result]:
        return drive(self._run(Blocking(self._calls), ops))

    async def abatch(self, ops: Iterable[Op | Put | Search]) -> list[Result]:
        return await self._run(Awaiting(self._calls), ops)

    async def _run(self, style: Style, ops: Iterable[Op | Put | Search]) -> list[Result]:
        tenant, plan = self._plan(ops)
        found, due = await self._transact(style, tenant, plan)
        if due:
            with _failing_softly(due):
                await style.write(tenant, lambda unit: items.refresh(unit, due))
        if self._calls.index is not None and (jobs := plan.pending):
            await embedding.embed(style, self._calls.index, tenant, jobs)
        return plan.results(found)

    async def _transact(self, style: Style, tenant: str, plan: operations.Plan) -> Any:
        """Run a plan; once more if another process has switched to other vectors meanwhile."""
        index, queries = self._calls.index, plan.queries
        if index is None or not queries:
            if index is not None and plan.pending:
                await embedding.agreed(style, index, tenant)
            return await (style.write if plan.writes else style.read)(tenant, plan.run)
        must = any(query.mode is Mode.VECTOR for query in queries)
        for _ in range(_ATTEMPTS):
            texts = [query.text or "" for query in queries if query.wants_vector]
            plan.setting.wanted = await embedding.wanted(style, index, tenant, texts, must=must)
            try:
                return await (style.write if plan.writes else style.read)(tenant, plan.run)
            except OutdatedIndexError:
                index.agreed.pop(tenant, None)
        raise errors.ConflictError("the vectors were switched while this search ran; search again")

    # One operation

    def get(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        found: Item | None = _one(self.batch([self._get(namespace, key, refresh_ttl)]))
        return found

    async def aget(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
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
        `explanation`; ``superseded`` and ``quarantined`` find those as well. See docs/reference/search.md.
        """
        refresh = self._refreshes(refresh_ttl)
        op = Search(namespace_prefix, filter, limit, offset, query, refresh, options)
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
        refresh = self._refreshes(refresh_ttl)
        op = Search(namespace_prefix, filter, limit, offset, query, refresh, options)
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
        **about: Unpack[PutOptions],
    ) -> None:
        """Store an item, in the place of the one with its key.

        `about`: ``kind``, ``source``, ``confidence``, ``importance``, ``valid_from``, ``valid_to``,
        ``superseded_by`` and ``quarantined``, kept apart from the value; see `perdure.About`.
        """
        self.batch([self._put(namespace, key, value, index, ttl, about)])

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Index = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
        **about: Unpack[PutOptions],
    ) -> None:
        """Do what `put` does."""
        await self.abatch([self._put(namespace, key, value, index, ttl, about)])

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        self.batch([PutOp(namespace, key, None)])

    async def adelete(self, namespace: tuple[str, ...], key: str) -> None:
        await self.abatch([PutOp(namespace, key, None)])

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

    def sweep(self) -> int:
        """Remove items that have expired, in small transactions; return how many.

        They are gone for reads already. A view of a tenant sweeps that tenant's, any other sweeps everybody's.
        """
        tenants = self._named() or self._calls.survey(items.expiring_tenants)
        swept = 0
        for tenant in tenants:
            while count := self._calls.write(tenant, items.sweep):
                swept += count
        return swept

    async def asweep(self) -> int:
        """Do what `sweep` does."""
        tenants = self._named() or await self._calls.asurvey(items.expiring_tenants)
        swept = 0
        for tenant in tenants:
            while count := await self._calls.awrite(tenant, items.sweep):
                swept += count
        return swept

    # The work of each, written once

    def _plan(self, ops: Iterable[Op | Put | Search]) -> tuple[str, operations.Plan]:
        scope, configurable = self._calls.scope, ambient()
        tenant = scope.tenant_for(configurable)
        index = self._calls.index
        setting = Setting(self._calls.codec, scope.subject_for(configurable), self._calls.shelves)
        if index is not None:
            setting.indexed, setting.fields = True, index.spec.fields
        return tenant, operations.plan(setting, ops)

    def _get(self, namespace: Prefix, key: str, refresh_ttl: bool | None) -> GetOp:  # noqa: FBT001 - LangGraph's field
        return GetOp(namespace, key, self._refreshes(refresh_ttl))

    def _put(
        self,
        namespace: Prefix,
        key: str,
        value: Mapping[str, Any],
        index: Index,
        ttl: float | NotProvided | None,
        about: PutOptions,
    ) -> PutOp | Put:
        if value is None:
            return PutOp(namespace, key, None)
        if isinstance(ttl, NotProvided):
            ttl = (self.ttl_config or {}).get("default_ttl")
        return Put(namespace, key, value, index, ttl, about)

    def _refreshes(self, asked: bool | None) -> bool:  # noqa: FBT001 - LangGraph's field
        return (self.ttl_config or {}).get("refresh_on_read", True) if asked is None else asked

    def _count(self, prefix: Prefix) -> tuple[str, Job[int]]:
        labels = namespaces.check_path(prefix, "namespace prefix")
        return self._calls.scope.tenant_for(ambient()), lambda unit: items.count(unit, labels)

    def _named(self) -> list[str]:
        return [self._calls.scope.tenant] if self._calls.scope.named else []


def _one(results: list[Result]) -> Any:
    return results[0]


def _conditions(prefix: NamespacePath | None, suffix: NamespacePath | None) -> tuple[MatchCondition, ...]:
    given = (("prefix", prefix), ("suffix", suffix))
    return tuple(MatchCondition(kind, path) for kind, path in given if path is not None)  # type: ignore[arg-type]


@contextmanager
def _failing_softly(due: list[items.Record]) -> Iterator[None]:
    """Let a read succeed that could not move the end of what it read: a locked database, a full disk."""
    try:
        yield
    except errors.DatabaseError as error:
        _log.warning("the TTL of %d items was not refreshed: %s", len(due), error.code)
