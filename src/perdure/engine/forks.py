"""Forks: every engine of the process pauses before one, and goes on after it, in the parent and in the child."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

__all__ = ["watch"]


class Forkable(Protocol):
    """What an engine does around a fork. `lost`: it could not pause in time, and the child can't use it."""

    lost: bool

    def before_fork(self) -> None: ...
    def after_fork_in_parent(self, *, lost: bool) -> None: ...
    def after_fork_in_child(self) -> None: ...


_engines: weakref.WeakSet[Forkable] = weakref.WeakSet()


def watch(engine: Forkable) -> None:
    """Have an engine told of forks for as long as it lives."""
    _engines.add(engine)


class _Forks:
    """What happens to every engine when the process forks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lost: dict[Forkable, bool] = {}

    def before(self) -> None:
        self._lock.acquire()
        self._lost = {engine: engine.lost for engine in list(_engines)}
        for engine in self._lost:
            engine.before_fork()

    def after_in_parent(self) -> None:
        for engine, lost in self._lost.items():
            engine.after_fork_in_parent(lost=lost)
        self._lost = {}
        self._lock.release()

    def after_in_child(self) -> None:
        for engine in self._lost:
            engine.after_fork_in_child()
        self._lost = {}
        self._lock = threading.Lock()


_forks = _Forks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_forks.before, after_in_parent=_forks.after_in_parent, after_in_child=_forks.after_in_child
    )
