"""Reindexing: vectors that are missing are made, and those of another model are made beside the old ones.

Searches go on with the old vectors until no item lacks a new one; then they switch, and the old ones are removed.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Final

from perdure import errors
from perdure.core import namespaces
from perdure.core.search import embeddings
from perdure.engine import drive
from perdure.langgraph import embedding
from perdure.langgraph.calls import Calls
from perdure.langgraph.configs import ambient
from perdure.langgraph.indexing import Index, Vector
from perdure.langgraph.styles import Awaiting, Blocking, Style
from perdure.model import Reindexed

__all__ = ["Progress", "Reindexing"]

_log = logging.getLogger(__name__)
_PASSES: Final = 20
Ready = list[tuple[embeddings.Job, list[Vector]]]
Progress = Callable[[int, int], None]
"""Told how many items have been looked at, and of how many."""


class Reindexing:
    """The part of the store that makes vectors outside of puts."""

    _calls: Calls

    def reindex(self, progress: Progress | None = None) -> Reindexed:
        """Make the vectors that the tenant's items lack: all of them, if the index has another model than before.

        What was made is kept if this is interrupted, and the next call goes on. Raises EmbedderError.
        """
        return drive(self._reindex(Blocking(self._calls), progress))

    async def areindex(self, progress: Progress | None = None) -> Reindexed:
        """Do what `reindex` does."""
        return await self._reindex(Awaiting(self._calls), progress)

    def embed_pending(self) -> int:
        """Make the vectors of items that were stored while the embedder failed; return of how many.

        A view of a tenant does so for that tenant, any other for everybody. The memory does it by itself.
        """
        return drive(self._embed_pending(Blocking(self._calls)))

    async def aembed_pending(self) -> int:
        """Do what `embed_pending` does."""
        return await self._embed_pending(Awaiting(self._calls))

    def _index(self) -> Index:
        if self._calls.index is None:
            raise errors.ConfigurationError("this memory has no index: open it with Memory.open(url, index={…})")
        return self._calls.index

    async def _reindex(self, style: Style, progress: Progress | None) -> Reindexed:
        index, tenant = self._index(), self._calls.scope.tenant_for(ambient())
        await _drop_retired(style, tenant)
        found = await style.write(tenant, lambda unit: embeddings.target(unit, index.spec))
        building = found.state is embeddings.State.BUILDING
        made = 0
        for _ in range(_PASSES):
            made += await _fill(style, index, tenant, found, progress)
            if not building or await _switched(style, tenant, found.number):
                await _drop_retired(style, tenant)
                index.agreed.pop(tenant, None)
                return Reindexed(index.spec.model, index.spec.dims, made, building)
        raise errors.ConflictError(
            "items are stored faster than vectors are made, so the switch to the new ones waits; repeat when there is "
            "less to do. What was made is kept."
        )

    async def _embed_pending(self, style: Style) -> int:
        index, scope = self._index(), self._calls.scope
        if scope.named:
            return await _follow(style, index, scope.tenant)
        made = 0
        for tenant in await style.survey(embeddings.pending_tenants):
            try:
                made += await _follow(style, index, tenant)
            except errors.EmbeddingModelError:
                _log.info("items of another tenant wait for vectors of another model than %s", index.spec.model)
        return made


async def _follow(style: Style, index: Index, tenant: str) -> int:
    number = await embedding.agreed(style, index, tenant)
    made = after = 0
    while jobs := await style.read(tenant, functools.partial(embeddings.pending, after=after)):
        try:
            ready, refused = await _ready(style, index, jobs)
        except errors.EmbedderError:
            break  # it fails still
        if refused:
            _log.warning("the embedder %s refuses the texts of %d items", index.spec.model, len(refused))
        made += await style.write(tenant, functools.partial(embeddings.keep_all, number=number, made=ready))
        after = jobs[-1].id
    return made


async def _fill(style: Style, index: Index, tenant: str, found: embeddings.Embedding, progress: Progress | None) -> int:
    """Make the vectors of all items that lack them; return of how many. Raises EmbedderError if it refuses some."""
    building = found.state is embeddings.State.BUILDING
    total = await style.read(tenant, functools.partial(embeddings.missing_count, number=found.number))
    made = after = done = 0
    lacking: list[embeddings.Job] = []
    while jobs := await style.read(tenant, functools.partial(embeddings.missing, number=found.number, after=after)):
        ready, refused = await _ready(style, index, [job for job in jobs if job.texts(index.spec)])
        keep = functools.partial(embeddings.keep_all, number=found.number, made=ready, building=building)
        made += await style.write(tenant, keep)
        lacking += refused
        after, done = jobs[-1].id, done + len(jobs)
        if progress is not None:
            progress(min(done, total), total)
    if lacking:
        raise _refusal(index, lacking)
    return made


async def _ready(style: Style, index: Index, jobs: list[embeddings.Job]) -> tuple[Ready, list[embeddings.Job]]:
    """Return the vectors of items, and the items that the embedder refuses. Raises EmbedderError if it fails."""
    try:
        return await embedding.vectors_of(style, index, jobs), []
    except errors.EmbedderError:
        return await embedding.one_by_one(style, index, jobs)


def _refusal(index: Index, lacking: list[embeddings.Job]) -> errors.EmbedderError:
    first = lacking[0]
    return errors.EmbedderError(
        f"the embedder {index.spec.model} refuses the texts of {len(lacking)} items, the first of them "
        f"{first.key!r} in {namespaces.unpack(first.namespace)!r}; shorten them, or store them with index=False, and "
        "repeat. What was made is kept"
    )


async def _switched(style: Style, tenant: str, number: int) -> bool:
    try:
        await style.write(tenant, functools.partial(embeddings.switch, number=number))
    except embeddings.IncompleteError:  # items were stored meanwhile
        return False
    return True


async def _drop_retired(style: Style, tenant: str) -> None:
    for one in await style.read(tenant, embeddings.everyone):
        if one.state is embeddings.State.RETIRED:
            while not await style.write(tenant, functools.partial(embeddings.drop, number=one.number)):
                pass
