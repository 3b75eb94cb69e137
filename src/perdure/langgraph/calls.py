"""Calls: a scope, an engine and what the process knows, joined; each way to run work once, in both styles."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from perdure import errors
from perdure.core.codec import Codec
from perdure.core.entries import Caches
from perdure.core.logs import Stored
from perdure.core.search.shelves import Shelves
from perdure.core.shapes import Shape
from perdure.core.unit import Unit
from perdure.core.writes import StaleError
from perdure.engine import Engine, OutdatedError, Tx, Work
from perdure.langgraph.configs import Scope
from perdure.langgraph.indexing import Index
from perdure.model import Address

__all__ = ["Calls", "Job", "Make"]

T = TypeVar("T")
Job = Callable[[Unit], Coroutine[Any, Any, T]]
Make = Callable[[bool], Job[Stored | None]]
"""Makes the work of a write; true: what the process remembers has misled it."""
_ATTEMPTS = 5


class Notice(Protocol):
    """Is told of a tenant's changes of items: how many, and whether they leave something to sweep, if not now."""

    def __call__(self, tenant: str, *, changes: int, urgent: bool) -> None: ...


def _unnoticed(tenant: str, *, changes: int, urgent: bool) -> None:
    """Tell nobody."""


def micros() -> int:
    """Return the time in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Calls:
    """What an adapter needs to run core functions. `clock` gives microseconds since 1970, UTC.

    `shape`: the version of the graph's state that checkpoints are read and written as; None: as they are stored.
    """

    engine: Engine
    codec: Codec
    caches: Caches
    scope: Scope
    clock: Callable[[], int] = micros
    index: Index | None = None
    shelves: Shelves = field(default_factory=Shelves)
    notice: Notice = _unnoticed
    shape: Shape | None = None

    def within(self, tenant: str | None, subject: str | None) -> Calls:
        """Return the same calls in a narrower scope."""
        return replace(self, scope=self.scope.narrowed(tenant, subject))

    def tenant(self) -> str:
        """Return the tenant of a call that no run's config comes with."""
        return self.scope.tenant_for({})

    def _work(self, tenant: str, job: Job[T], *, writes: bool = False) -> Work[T]:
        def work(tx: Tx) -> Coroutine[Any, Any, T]:
            return job(Unit(tx, tenant, self.clock(), self.caches.generations, writes))

        return work

    def read(self, tenant: str, job: Job[T]) -> T:
        """Run a job that changes nothing."""
        return self.engine.read(self._work(tenant, job), tenant=tenant)

    async def aread(self, tenant: str, job: Job[T]) -> T:
        """Run a job that changes nothing."""
        return await self.engine.aread(self._work(tenant, job), tenant=tenant)

    def survey(self, job: Job[T]) -> T:
        """Run a job that looks at the threads and items of every tenant."""
        return self.engine.read(self._work(self.scope.tenant, job), tenant=None)

    async def asurvey(self, job: Job[T]) -> T:
        """Run a job that looks at the threads and items of every tenant."""
        return await self.engine.aread(self._work(self.scope.tenant, job), tenant=None)

    def write(self, tenant: str, job: Job[T]) -> T:
        """Run a job; it is on disk when this returns."""
        for _ in range(_ATTEMPTS):
            try:
                return self.engine.write(self._work(tenant, job, writes=True), tenant=tenant)
            except OutdatedError:
                continue
        raise _restless("what a call changes")

    async def awrite(self, tenant: str, job: Job[T]) -> T:
        """Run a job; it is on disk when this returns."""
        for _ in range(_ATTEMPTS):
            try:
                return await self.engine.awrite(self._work(tenant, job, writes=True), tenant=tenant)
            except OutdatedError:
                continue
        raise _restless("what a call changes")

    def store(self, address: Address, make: Make) -> Stored | None:
        """Encode and store; again from the start if the thread is not the one this process knew."""
        for attempt in range(_ATTEMPTS):
            try:
                with self.engine.lane((address.tenant, address.thread)):
                    work = self._work(address.tenant, make(attempt > 0), writes=True)
                    return self._keep(address, self.engine.write(work, tenant=address.tenant))
            except (StaleError, OutdatedError) as error:
                self._forget(address, error)
        raise _restless(f"thread {address.thread!r}")

    async def astore(self, address: Address, make: Make) -> Stored | None:
        """Encode and store; again from the start if the thread is not the one this process knew."""
        for attempt in range(_ATTEMPTS):
            try:
                async with self.engine.alane((address.tenant, address.thread)):
                    work = self._work(address.tenant, make(attempt > 0), writes=True)
                    return self._keep(address, await self.engine.awrite(work, tenant=address.tenant))
            except (StaleError, OutdatedError) as error:
                self._forget(address, error)
        raise _restless(f"thread {address.thread!r}")

    def _forget(self, address: Address, error: Exception) -> None:
        """Forget what has misled a write: rows, or the entries as well."""
        forget = self.caches.drop if isinstance(error, StaleError) else self.caches.doubt
        forget(address.tenant, address.thread)

    def _keep(self, address: Address, stored: Stored | None) -> Stored | None:
        """Remember the entries that a write has placed, now that it is committed."""
        if stored is not None:
            cache = self.caches.at(address.tenant, address.thread, stored.generation, stored.epoch)
            for slot in stored.placed:
                cache.place(slot, slot.log, slot.pos)
            if stored.record is not None:
                cache.heads[address.ns] = stored.record
            if stored.known is not None:
                self.caches.learn(address.tenant, address.thread, stored.known)
        return stored


def _restless(what: str) -> errors.ConflictError:
    return errors.ConflictError(
        f"{what} was changed by somebody else {_ATTEMPTS} times while this was being stored; nothing was stored. "
        "Try again."
    )
