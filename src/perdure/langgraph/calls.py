"""Calls: a scope, an engine and what the process knows, joined; each way to run work once, in both styles."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from perdure import errors
from perdure.core.codec import Codec
from perdure.core.entries import Caches
from perdure.core.logs import Stored
from perdure.core.unit import Unit
from perdure.core.writes import StaleError
from perdure.engine import Engine, Tx, Work
from perdure.langgraph.configs import Scope
from perdure.model import Address

__all__ = ["Calls", "Job"]

T = TypeVar("T")
Job = Callable[[Unit], Coroutine[Any, Any, T]]
_ATTEMPTS = 5


def micros() -> int:
    """Return the time in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Calls:
    """What an adapter needs to run core functions. `clock` gives microseconds since 1970, UTC."""

    engine: Engine
    codec: Codec
    caches: Caches
    scope: Scope
    clock: Callable[[], int] = micros

    def within(self, tenant: str | None, subject: str | None) -> Calls:
        """Return the same calls in a narrower scope."""
        return replace(self, scope=self.scope.narrowed(tenant, subject))

    def tenant(self) -> str:
        """Return the tenant of a call that no run's config comes with."""
        return self.scope.tenant_for({})

    def _work(self, tenant: str, job: Job[T]) -> Work[T]:
        def work(tx: Tx) -> Coroutine[Any, Any, T]:
            return job(Unit(tx, tenant, self.clock()))

        return work

    def read(self, tenant: str, job: Job[T]) -> T:
        """Run a job in a read transaction."""
        return self.engine.read(self._work(tenant, job))

    async def aread(self, tenant: str, job: Job[T]) -> T:
        """Run a job in a read transaction."""
        return await self.engine.aread(self._work(tenant, job))

    def write(self, tenant: str, job: Job[T]) -> T:
        """Run a job; it is on disk when this returns."""
        return self.engine.write(self._work(tenant, job))

    async def awrite(self, tenant: str, job: Job[T]) -> T:
        """Run a job; it is on disk when this returns."""
        return await self.engine.awrite(self._work(tenant, job))

    def store(self, address: Address, make: Callable[[], Job[Stored | None]]) -> Stored | None:
        """Encode and store; again from the start if the thread is not the one this process knew."""
        for _ in range(_ATTEMPTS):
            try:
                return self._keep(address, self.write(address.tenant, make()))
            except StaleError:
                self.caches.drop(address.tenant, address.thread)
        raise self._restless(address)

    async def astore(self, address: Address, make: Callable[[], Job[Stored | None]]) -> Stored | None:
        """Encode and store; again from the start if the thread is not the one this process knew."""
        for _ in range(_ATTEMPTS):
            try:
                return self._keep(address, await self.awrite(address.tenant, make()))
            except StaleError:
                self.caches.drop(address.tenant, address.thread)
        raise self._restless(address)

    def _keep(self, address: Address, stored: Stored | None) -> Stored | None:
        """Remember the entries that a write has placed, now that it is committed."""
        if stored is not None:
            cache = self.caches.at(address.tenant, address.thread, stored.generation, stored.epoch)
            for slot in stored.placed:
                cache.place(slot, slot.log, slot.pos)
            if stored.record is not None:
                cache.heads[address.ns] = stored.record
        return stored

    def _restless(self, address: Address) -> errors.ConflictError:
        return errors.ConflictError(
            f"thread {address.thread!r} was pruned or begun anew {_ATTEMPTS} times while a step was being stored; "
            "nothing was stored. Try again."
        )
