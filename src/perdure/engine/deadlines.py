"""Deadlines: a call whose server has stopped to answer is ended by closing its socket under it."""

from __future__ import annotations

import collections
import os
import socket
import threading
import time
from contextlib import suppress

__all__ = ["Deadline", "Deadlines"]


class Deadline:
    """The end of one call. `passed`: it was ended."""

    __slots__ = ("_fileno", "passed", "when")

    def __init__(self, when: float, fileno: int) -> None:
        self.when = when
        self.passed = False
        self._fileno: int | None = fileno

    @property
    def open(self) -> bool:
        """Whether the call is still under way."""
        return self._fileno is not None

    def finish(self) -> None:
        """Take note that the call has ended by itself. Called under the lock of its `Deadlines`."""
        self._fileno = None

    def end(self) -> None:
        """Shut the call's socket, so that whoever waits for it wakes up. Called under the same lock."""
        if self._fileno is not None:
            self.passed = True
            with suppress(OSError), socket.socket(fileno=os.dup(self._fileno)) as twin:
                twin.shutdown(socket.SHUT_RDWR)
            self._fileno = None


class Deadlines:
    """The deadlines of all calls under way; every call has the same number of seconds.

    One thread watches them, started by the first call. A call costs it nothing but a place in a
    queue: with equal times the first to begin is the first to end.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._changed = threading.Condition()
        self._queue: collections.deque[Deadline] = collections.deque()
        self._thread: threading.Thread | None = None
        self._closed = False

    def start(self, fileno: int) -> Deadline:
        """Begin the time of a call that uses a socket."""
        found = Deadline(time.monotonic() + self.seconds, fileno)
        with self._changed:
            while self._queue and not self._queue[0].open:
                self._queue.popleft()
            if not self._queue:
                self._changed.notify()
            self._queue.append(found)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._watch, name="perdure-deadlines", daemon=True)
                self._thread.start()
        return found

    def finish(self, deadline: Deadline) -> None:
        """End the time of a call; from now on its socket may be somebody else's."""
        with self._changed:
            deadline.finish()

    def close(self) -> None:
        """Let the watching thread end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                while self._queue and (not self._queue[0].open or self._queue[0].when <= now):
                    self._queue.popleft().end()
                self._changed.wait(self._queue[0].when - now if self._queue else None)
