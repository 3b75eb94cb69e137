"""Group commit: writes that arrive while a commit is in flight share the next one.

Whoever finds the writer idle commits its own work at once. Whoever comes meanwhile waits in line;
the one at its head then leads: it runs everybody's work in one transaction, each inside a
savepoint, and one commit makes all of it durable. Async callers never lead: a thread of the
writer does so for them, and tells their loop.

A Ctrl-C may end a caller anywhere, a leader too. What a leader owes the others is therefore done
in `finally`, in steps that may be repeated: first everything is worked out, then a few plain
assignments change who leads, and telling somebody twice does no harm.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from perdure import errors

__all__ = ["Job", "Writer", "closed"]

Commit = Callable[[list["Job"]], None]
"""Runs the work of every job in one transaction and settles each; raises only what ends a thread."""

LONGEST_GOODBYE = 60.0
"""Seconds that `close` waits for those in line."""


class Job:
    """One caller's unit of work, from the line to its outcome."""

    __slots__ = ("_lock", "_reply", "abandoned", "batch", "error", "heir", "holds", "settled", "value", "work")

    def __init__(
        self,
        work: Any,
        reply: tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]] | None = None,
        *,
        holds: bool = False,
    ) -> None:
        self.work = work
        self.value: Any = None
        self.error: BaseException | None = None
        self.settled = False
        self.abandoned = False
        self.batch: list[Job] = []
        self.heir: Job | None = None
        self.holds = holds
        self._reply = reply
        self._lock = threading.Lock()
        self._lock.acquire()

    @property
    def waits_in_thread(self) -> bool:
        """Whether a blocked thread stands behind this job, which can lead."""
        return self._reply is None and not self.abandoned

    @property
    def unwanted(self) -> bool:
        """Whether the caller has gone, so that work which has not begun need not be done."""
        return self.abandoned if self._reply is None else self._reply[1].cancelled()

    def settle(self, value: Any, error: BaseException | None = None) -> None:
        """Set the outcome; `wake` tells the caller."""
        self.value, self.error, self.settled = value, error, True

    def wake(self) -> None:
        """Tell the caller that there is an outcome, or that it is its turn to lead. Once is enough, twice allowed."""
        with suppress(RuntimeError):  # told before, or its loop was closed: the caller is gone
            if self._reply is None:
                self._lock.release()
            else:
                self._reply[0].call_soon_threadsafe(self._answer, self._reply[1])

    def _answer(self, future: asyncio.Future[Any]) -> None:
        if future.done():
            return
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(self.value)

    def wait(self, timeout: float = -1) -> None:
        """Block until woken, or for `timeout` seconds."""
        self._lock.acquire(timeout=timeout)

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
        self._mutex = threading.Lock()
        self._line: list[Job] = []
        self._leader: Job | None = None
        self._closed = False
        self._drained = threading.Event()
        self._orders: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, job: Job) -> Any:
        """Run a job from a thread that may block."""
        try:
            if not self._join(job):
                job.wait()
            if self._leader is job:
                self._lead(job)
        finally:
            try:
                self._leave(job)
            except KeyboardInterrupt:  # one that comes here must not leave the others waiting for ever
                self._leave(job)
                raise
        return job.outcome()

    def send(self, job: Job) -> None:
        """Take the job of an async caller; its future is told."""
        try:
            if self._join(job):
                self._hand_over(job)
        except KeyboardInterrupt:
            if self._leader is job:
                self._hand_over(job)
            raise

    def hold(self, timeout: float) -> Job | None:
        """Take the lead and do nothing with it until `release`; None if it couldn't be had in time."""
        job = Job(None, holds=True)
        if not self._join(job):
            job.wait(timeout)
        if self._leader is job:
            return job
        with self._mutex:
            if self._leader is not job:
                self._line = [other for other in self._line if other is not job]
                return None
        return job

    def release(self, job: Job) -> None:
        """Let those in line go on."""
        self._leave(job)

    def close(self) -> None:
        """Refuse whoever comes from now on, and return when everybody in line has been served."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            busy = self._leader is not None
        if busy:
            self._drained.wait(LONGEST_GOODBYE)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._orders.put(None)
            thread.join(LONGEST_GOODBYE)

    def _join(self, job: Job) -> bool:
        """Get in line; whether there was none, so that this job leads."""
        with self._mutex:
            if self._closed:
                raise closed()
            if self._leader is not None:
                self._line.append(job)
                return False
            job.batch = [job]
            self._leader = job
            return True

    def _lead(self, job: Job) -> None:
        wanted = [other for other in job.batch if not other.unwanted]
        if wanted:
            self._commit(wanted)

    def _leave(self, job: Job) -> None:
        """Give the lead to the next in line, if this job has it, and tell everybody with an outcome.

        Jobs that an interrupted leader did not settle go first.
        """
        with self._mutex:
            if self._leader is job:
                left = [other for other in job.batch if not other.settled and other is not job]
                batch = [other for other in left + self._line if not other.unwanted]
                heir = _heir(batch)
                if heir is not None:
                    batch.remove(heir)
                    batch.insert(0, heir)
                    heir.batch = batch
                # From here on nothing can be interrupted.
                job.heir = heir
                self._line = []
                self._leader = heir
            elif not job.settled:
                job.abandoned = True
        if job.heir is not None and self._leader is job.heir:
            self._hand_over(job.heir)
        for other in job.batch:
            if other.settled and other is not job:
                other.wake()
        if self._closed and self._leader is None:
            self._drained.set()

    def _hand_over(self, heir: Job) -> None:
        if heir.waits_in_thread:
            heir.wake()
            return
        try:
            self._ensure_thread()
        except RuntimeError:  # no more threads: too many, or the interpreter is ending
            self._serve(heir)
        else:
            self._orders.put(heir)

    def _ensure_thread(self) -> None:
        with self._mutex:
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._work, name=f"perdure-writer {self._name}", daemon=True)
                thread.start()
                self._thread = thread

    def _work(self) -> None:
        while (job := self._orders.get()) is not None:
            self._serve(job)

    def _serve(self, job: Job) -> None:
        """Lead for a caller that can't; nothing if the order was given twice."""
        if self._leader is not job:
            return
        try:
            self._lead(job)
        except BaseException as error:  # noqa: BLE001 - the edge: nobody stands behind this call
            job.settle(None, error)
        self._leave(job)
        job.wake()


def _heir(batch: list[Job]) -> Job | None:
    """Return who leads next: whoever wants everything to stop, else a blocked thread, else the first."""
    for job in batch:
        if job.holds:
            return job
    return next((job for job in batch if job.waits_in_thread), batch[0] if batch else None)


def closed() -> errors.ClosedError:
    """Return the error for a call after `close`."""
    return errors.ClosedError("this memory was closed; open another one with Memory.open(url)")
