"""Styles: calling and waiting, so that what takes several steps is written once.

A flow is a coroutine over a `Style`. With `Blocking` nothing in it suspends, and `drive` runs it to its end; with
`Awaiting` the event loop does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from langchain_core.embeddings import Embeddings

from perdure.core.logs import Stored
from perdure.langgraph.calls import Calls, Job, Make
from perdure.model import Address

__all__ = ["Awaiting", "Blocking", "Style"]

T = TypeVar("T")


class Style(Protocol):
    """How a flow reaches the database and the embedder."""

    async def read(self, tenant: str, job: Job[T]) -> T:
        """Run a job that changes nothing."""

    async def write(self, tenant: str, job: Job[T]) -> T:
        """Run a job; it is on disk when this returns."""

    async def store(self, address: Address, make: Make) -> Stored | None:
        """Encode and store; again from the start if the thread is not the one this process knew."""

    async def survey(self, job: Job[T]) -> T:
        """Run a job that looks at the items of every tenant."""

    def lane(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Return a context in which this process has no other write for the same key under way, where that helps."""

    def turn(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Return a context in which this process has no other change for the same key under way."""

    async def documents(self, embedder: Embeddings, texts: list[str]) -> list[list[float]]:
        """Embed texts that are stored."""

    async def query(self, embedder: Embeddings, text: str) -> list[float]:
        """Embed a text that is looked for."""


class Blocking:
    """Calls that block."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def read(self, tenant: str, job: Job[T]) -> T:
        """Run a job that changes nothing."""
        return self._calls.read(tenant, job)

    async def write(self, tenant: str, job: Job[T]) -> T:
        """Run a job; it is on disk when this returns."""
        return self._calls.write(tenant, job)

    async def store(self, address: Address, make: Make) -> Stored | None:
        """Encode and store; again from the start if the thread is not the one this process knew."""
        return self._calls.store(address, make)

    async def survey(self, job: Job[T]) -> T:
        """Run a job that looks at the items of every tenant."""
        return self._calls.survey(job)

    def lane(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Return a context in which this process has no other write for the same key under way, where that helps."""
        return _blocking(self._calls.engine.lane(key))

    def turn(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Return a context in which this process has no other change for the same key under way."""
        return _blocking(self._calls.engine.turn(key))

    async def documents(self, embedder: Embeddings, texts: list[str]) -> list[list[float]]:
        """Embed texts that are stored."""
        return embedder.embed_documents(texts)

    async def query(self, embedder: Embeddings, text: str) -> list[float]:
        """Embed a text that is looked for."""
        return embedder.embed_query(text)


class Awaiting:
    """Calls that are awaited."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def read(self, tenant: str, job: Job[T]) -> T:
        """Run a job that changes nothing."""
        return await self._calls.aread(tenant, job)

    async def write(self, tenant: str, job: Job[T]) -> T:
        """Run a job; it is on disk when this returns."""
        return await self._calls.awrite(tenant, job)

    async def store(self, address: Address, make: Make) -> Stored | None:
        """Encode and store; again from the start if the thread is not the one this process knew."""
        return await self._calls.astore(address, make)

    async def survey(self, job: Job[T]) -> T:
        """Run a job that looks at the items of every tenant."""
        return await self._calls.asurvey(job)

    def lane(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Return a context in which this loop has no other write for the same key under way, where that helps."""
        return self._calls.engine.alane(key)

    def turn(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Return a context in which this loop has no other change for the same key under way."""
        return self._calls.engine.aturn(key)

    async def documents(self, embedder: Embeddings, texts: list[str]) -> list[list[float]]:
        """Embed texts that are stored."""
        return await embedder.aembed_documents(texts)

    async def query(self, embedder: Embeddings, text: str) -> list[float]:
        """Embed a text that is looked for."""
        return await embedder.aembed_query(text)


@asynccontextmanager
async def _blocking(context: AbstractContextManager[None]) -> AsyncIterator[None]:
    with context:
        yield
