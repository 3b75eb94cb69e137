"""Lanes: in one process, writes that belong together go one after another, in threads and in event loops."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Generic, TypeVar

__all__ = ["Lanes"]

Key = tuple[str, str]
Lock = TypeVar("Lock")


class _Shared(Generic[Lock]):
    """Locks by key, kept while somebody uses them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Key, tuple[Lock, int]] = {}

    def take(self, key: Key, new: Lock) -> Lock:
        with self._guard:
            lock, users = self._locks.get(key, (new, 0))
            self._locks[key] = lock, users + 1
            return lock

    def leave(self, key: Key) -> None:
        with self._guard:
            lock, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = lock, users - 1


class Lanes:
    """A lane for each key. Who can't get into it within `patience` seconds goes on beside it.

    A lane only saves work: what really keeps writes apart is in the database.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._threads: _Shared[threading.Lock] = _Shared()
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared[asyncio.Lock]]
        self._loops = weakref.WeakKeyDictionary()

    @contextmanager
    def one(self, key: Key) -> Iterator[None]:
        """Be the only thread in a lane."""
        lock = self._threads.take(key, threading.Lock())
        held = False
        try:
            held = lock.acquire(timeout=self._patience)
            yield
        finally:
            if held:
                lock.release()
            self._threads.leave(key)

    @asynccontextmanager
    async def aone(self, key: Key) -> AsyncIterator[None]:
        """Be the only task of this event loop in a lane."""
        shared = self._loops.setdefault(asyncio.get_running_loop(), _Shared())
        lock = shared.take(key, asyncio.Lock())
        held = False
        try:
            try:
                held = await asyncio.wait_for(lock.acquire(), self._patience) if lock.locked() else await lock.acquire()
            except TimeoutError:
                held = False
            yield
        finally:
            if held:
                lock.release()
            shared.leave(key)
