"""Group commit: writes that arrive while a commit is in flight share the next one.

Whoever finds the writer idle commits its own work at once. Whoever comes meanwhile waits in line;
the one at its head then leads: it runs everybody's work in one transaction, each inside a
savepoint, and one commit makes all of it durable. Async callers never lead: a thread of the
writer does so for them, and tells their loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from perdure import errors

__all__ = ["Job", "Writer"]

Commit = Callable[[list["Job"]], None]
"""Runs the work of every job in one transaction and settles each; raises only what ends a thread."""


class Job:
    """One caller's unit of work, from the line to its outcome."""

    __slots__ = ("_lock", "_reply", "abandoned", "batch", "error", "settled", "value", "work")

    def __init__(self, work: Any, reply: tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]] | None = None) -> None:
        self.work = work
        self.value: Any = None
        self.error: BaseException | None = None
        self.settled = False
        self.abandoned = False
        self.batch: list[Job] | None = None
        self._reply = reply
        self._lock = threading.Lock()
        self._lock.acquire()

    @property
    def waits_in_thread(self) -> bool:
        """Whether a blocked thread stands behind this job, which can lead."""
        return self._reply is None and not self.abandoned

    def settle(self, value: Any, error: BaseException | None = None) -> None:
        """Set the outcome; `wake` tells the caller."""
        self.value, self.error, self.settled = value, error, True

    def wake(self) -> None:
        """Tell the caller that there is an outcome, or that it is its turn to lead."""
        if self._reply is None:
            self._lock.release()
            return
        loop, future = self._reply
        try:
            loop.call_soon_threadsafe(self._answer, future)
        except RuntimeError:
            return  # the loop was closed: its caller is gone

    def _answer(self, future: asyncio.Future[Any]) -> None:
        if future.done():
            return
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(self.value)

    def wait(self) -> None:
        """Block until woken."""
        self._lock.acquire()

    def outcome(self) -> Any:
        """Return what the work returned, or raise what it raised."""
        if self.error is not None:
            raise self.error
        return self.value


class Writer:
    """Lines jobs up and decides who commits them."""

    def __init__(self, commit: Commit, name: str) -> None:
        self._commit = commit
        self._name = name
        self.reset()

    def reset(self) -> None:
        """Forget everybody in line; for a new process after a fork, where no other thread lives on."""
        self._mutex = threading.Lock()
        self._line: list[Job] = []
        self._busy = False
        self._closed = False
        self._orders: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, job: Job) -> Any:
        """Run a job from a thread that may block."""
        if self._join(job):
            self._lead([job])
        else:
            self._wait(job)
            if not job.settled and job.batch is not None:
                self._lead(job.batch)
        return job.outcome()

    def send(self, job: Job) -> None:
        """Take the job of an async caller; its future is told."""
        if self._join(job):
            self._order([job])

    def close(self) -> None:
        """Let everybody in line finish, then refuse."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._orders.put(None)
            thread.join(timeout=30)

    def _join(self, job: Job) -> bool:
        with self._mutex:
            if self._closed:
                msg = "this memory was closed; open another one with Memory.open(url)"
                raise errors.ClosedError(msg)
            if self._busy:
                self._line.append(job)
                return False
            self._busy = True
            return True

    def _wait(self, job: Job) -> None:
        try:
            job.wait()
        except BaseException:  # Ctrl-C while in line: nobody stands behind this job any more
            with self._mutex:
                job.abandoned = True
                batch = job.batch
            if batch is not None and not job.settled:
                self._order(batch)
            raise

    def _lead(self, batch: list[Job]) -> None:
        leader = batch[0]
        try:
            self._commit(batch)
        finally:
            self._pass_on([job for job in batch if not job.settled and job is not leader])
            for job in batch:
                if job.settled and job is not leader:
                    job.wake()

    def _pass_on(self, unsettled: list[Job]) -> None:
        """Give the lead to the next in line; unsettled jobs of an interrupted leader go first."""
        with self._mutex:
            batch = unsettled + self._line
            self._line = []
            heir = next((job for job in batch if job.waits_in_thread), None)
            if heir is not None:
                batch.remove(heir)
                batch.insert(0, heir)
                heir.batch = batch
            elif not batch:
                self._busy = False
        if heir is not None:
            heir.wake()
        elif batch:
            self._order(batch)

    def _order(self, batch: list[Job]) -> None:
        with self._mutex:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name=f"perdure-writer {self._name}", daemon=True)
                self._thread.start()
        self._orders.put(batch)

    def _serve(self) -> None:
        while (batch := self._orders.get()) is not None:
            self._lead(batch)
            for job in batch[:1]:
                job.wake()
