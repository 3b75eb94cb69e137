"""Rounds: one thread of the process that does small jobs in the background, one after another, now and then."""

from __future__ import annotations

import logging
import random
import threading
import weakref
from collections.abc import Callable, Mapping

from perdure import errors
from perdure.engine import forks

__all__ = ["Job", "Rounds"]

Job = Callable[[], bool]
"""Does a little; whether there is more to do."""

_log = logging.getLogger(__name__)
_BUSY_AFTER = 20
"""Changes after which a process is worth a thread; those of a process that only reads never are."""
_MOST = 10_000
"""How often a job is called in one round."""


class _Round:
    """What the thread needs. It must not hold `Rounds`, whose end is the thread's too."""

    def __init__(self, jobs: Mapping[str, Job], seconds: float, pause: float) -> None:
        self.jobs = jobs
        self.seconds = seconds
        self.pause = pause
        self.stopped = threading.Event()

    def run(self) -> None:
        """Go round until stopped. Processes that began together don't stay together."""
        while not self.stopped.wait(self.seconds * random.uniform(0.5, 1.5)):  # noqa: S311 - no secret
            self.turn()

    def turn(self) -> None:
        """Do every job until it has nothing more to do. What fails is tried again at the next turn."""
        for name, job in self.jobs.items():
            try:
                self._finish(job)
            except errors.PerdureError as error:
                if not self.stopped.is_set():
                    _log.warning("%s failed and will be tried again: %s", name, error.code)
            except Exception as error:  # noqa: BLE001 - the edge of a thread
                _log.warning("%s failed and will be tried again: %s", name, type(error).__name__)

    def _finish(self, job: Job) -> None:
        for _ in range(_MOST):
            if self.stopped.is_set() or not job() or self.stopped.wait(self.pause):
                return


class Rounds:
    """Jobs by name, each done about every `seconds`, with a `pause` between its steps so that others get their turn.

    The thread begins when there is something to do for it, ends with `close`, with this object or with the
    interpreter, and is not there in a forked child until that has something to do as well.
    """

    lost = False

    def __init__(self, jobs: Mapping[str, Job], *, seconds: float = 60.0, pause: float = 0.02) -> None:
        self._made = (jobs, seconds, pause)
        self._closed = False
        self._begin()
        forks.watch(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._round = _Round(*self._made)
        self._changes = 0
        self._thread: threading.Thread | None = None
        weakref.finalize(self, self._round.stopped.set)

    def notice(self, changes: int, *, urgent: bool) -> None:
        """Take note of changes. `urgent`: they have left something to do, if not now."""
        if self._thread is not None:
            return
        self._changes += changes
        if urgent or self._changes >= _BUSY_AFTER:
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed:
                thread = threading.Thread(target=self._round.run, name="perdure-rounds", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no more threads, or the interpreter is ending: a later change tries again
                    return
                self._thread = thread

    def turn(self) -> None:
        """Do every job now, in the calling thread."""
        self._round.turn()

    def close(self) -> None:
        """End the thread after the step that it is in."""
        with self._lock:
            self._closed = True
            thread = self._thread
        self._round.stopped.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
            self._thread = None

    # Forks

    def before_fork(self) -> None:
        """Do nothing: a step that is under way ends by itself."""

    def after_fork_in_parent(self, *, lost: bool) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Begin anew: threads stay with the parent."""
        self._begin()
