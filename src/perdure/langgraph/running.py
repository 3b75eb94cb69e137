"""Running operations of the store: what it knows of all of them, and the steps of a batch."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.store.base import Op, Result, TTLConfig

from perdure import errors
from perdure.core import items
from perdure.core.search.embeddings import Job
from perdure.core.search.finding import OutdatedIndexError
from perdure.core.search.scores import Mode
from perdure.langgraph import embedding
from perdure.langgraph import ops as operations
from perdure.langgraph.calls import Calls
from perdure.langgraph.configs import ambient
from perdure.langgraph.putting import Delete, Put, Setting
from perdure.langgraph.searching import Search
from perdure.langgraph.styles import Style

__all__ = ["Running"]

_log = logging.getLogger(__name__)
_ATTEMPTS = 3


class Running:
    """The part of the store that all others stand on."""

    ttl_config: TTLConfig | None = None

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def _run(self, style: Style, ops: Iterable[Op | Put | Delete | Search]) -> list[Result]:
        tenant, plan = self._plan(ops)
        found, due = await self._transact(style, tenant, plan)
        if plan.writes:
            self._calls.notice(tenant, changes=plan.changes, urgent=plan.ends)
        if due:
            with _failing_softly(due):
                await style.write(tenant, lambda unit: items.refresh(unit, due))
        if plan.writes:
            await self._embed(style, tenant, plan.pending)
        return plan.results(found)

    async def _embed(self, style: Style, tenant: str, jobs: list[Job]) -> None:
        """Make the vectors of what was stored; what has none in the end is left to the background."""
        index = self._calls.index
        if index is not None and jobs and await embedding.embed(style, index, tenant, jobs) < len(jobs):
            self._calls.notice(tenant, changes=0, urgent=True)

    async def _transact(self, style: Style, tenant: str, plan: operations.Plan) -> Any:
        """Run a plan; once more if another process has switched to other vectors meanwhile."""
        index = self._calls.index
        queries = [] if index is None else plan.queries
        if index is None or not queries:
            if index is not None and plan.writes and plan.pending:
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

    def _plan(self, ops: Iterable[Op | Put | Delete | Search]) -> tuple[str, operations.Plan]:
        tenant, setting = self._setting()
        return tenant, operations.plan(setting, ops)

    def _setting(self) -> tuple[str, Setting]:
        """Return whose items a call is about, and what the store knows of every operation."""
        scope, configurable = self._calls.scope, ambient()
        setting = Setting(self._calls.codec, scope.subject_for(configurable), self._calls.shelves, self._calls.clock())
        if self._calls.index is not None:
            setting.indexed, setting.fields = True, self._calls.index.spec.fields
        if self.ttl_config:
            setting.default_ttl = self.ttl_config.get("default_ttl")
            setting.refreshes = self.ttl_config.get("refresh_on_read", True)
        return scope.tenant_for(configurable), setting

    def _tenant(self) -> str:
        return self._calls.scope.tenant_for(ambient())


@contextmanager
def _failing_softly(due: list[items.Record]) -> Iterator[None]:
    """Let a read succeed that could not move the end of what it read: a locked database, a full disk."""
    try:
        yield
    except errors.DatabaseError as error:
        _log.warning("the TTL of %d items was not refreshed: %s", len(due), error.code)
