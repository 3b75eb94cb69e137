"""Deadlines: a call whose server has stopped to answer is ended by closing its socket under it."""

from __future__ import annotations

import heapq
import math
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["Deadline", "Deadlines"]


class Deadline:
    """The end of one call. `passed`: it was ended."""

    __slots__ = ("_fileno", "_socket", "passed", "when")

    def __init__(self, when: float, fileno: int) -> None:
        self.when = when
        self.passed = False
        self._fileno: int | None = fileno
        self._socket = _identity(fileno)

    def __lt__(self, other: Deadline) -> bool:
        return self.when < other.when

    @property
    def open(self) -> bool:
        """Whether the call is still under way."""
        return self._fileno is not None

    def finish(self) -> None:
        """Take note that the call has ended by itself. Called under the lock of its `Deadlines`."""
        self._fileno = None

    def end(self) -> None:
        """Shut the call's socket, so that whoever waits for it wakes up. Called under the same lock.

        A driver that has lost its connection has closed the socket already, and its number may be another's.
        """
        if self._fileno is not None:
            self.passed = True
            with suppress(OSError), socket.socket(fileno=os.dup(self._fileno)) as twin:
                if _identity(twin.fileno()) == self._socket:
                    twin.shutdown(socket.SHUT_RDWR)
            self._fileno = None


class Deadlines:
    """The deadlines of all calls under way. A call has `seconds`, if it doesn't say how many.

    One thread watches them, started by the first call. It sleeps until the first deadline that was there when it fell
    asleep, so that calls that end in time don't wake it.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._changed = threading.Condition()
        self._queue: list[Deadline] = []
        self._wakes = -math.inf
        self._thread: threading.Thread | None = None
        self._closed = False

    def start(self, fileno: int, seconds: float | None = None) -> Deadline:
        """Begin the time of a call that uses a socket."""
        found = Deadline(time.monotonic() + (self.seconds if seconds is None else seconds), fileno)
        with self._changed:
            while self._queue and not self._queue[0].open:
                heapq.heappop(self._queue)
            heapq.heappush(self._queue, found)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="perdure-deadlines", daemon=True)
                self._thread.start()
            elif found.when < self._wakes:
                self._changed.notify()
        return found

    def finish(self, deadline: Deadline) -> None:
        """End the time of a call; from now on its socket may be somebody else's."""
        with self._changed:
            deadline.finish()
            if self._closed:
                self._changed.notify()

    @contextmanager
    def brief(self, fileno: int, seconds: float) -> Iterator[None]:
        """Return a context that has at most some seconds for what it does with a socket."""
        deadline = self.start(fileno, seconds)
        try:
            yield
        finally:
            self.finish(deadline)

    def close(self) -> None:
        """Let the watching thread end once no call is under way any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = None if any(deadline.open for deadline in self._queue) else self._thread
        if thread is not None:
            thread.join()

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                while self._queue and (not self._queue[0].open or self._queue[0].when <= now):
                    heapq.heappop(self._queue).end()
                if self._closed and not self._queue:
                    self._thread = None
                    return
                self._wakes = self._queue[0].when if self._queue else math.inf
                self._changed.wait(self._wakes - now if self._queue else None)


def _identity(fileno: int) -> int | None:
    """Return what tells a socket from all others, None if there is none of that number."""
    try:
        return os.fstat(fileno).st_ino
    except OSError:
        return None
