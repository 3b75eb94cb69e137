"""Writers that make each call until it succeeds, in either style, and journal what was acknowledged."""

from __future__ import annotations

import asyncio
import collections
import faulthandler
import sys
import threading
import time

from tests import support
from tests.faults.promises import Promises, state

from perdure import errors
from perdure.engine import drive

PASSING = (errors.DatabaseUnavailableError, errors.CommitUnknownError, errors.DatabaseLockedError)
"""What a call may raise while a server comes and goes."""


class Writer:
    """One thread of a memory's users, which may run an event loop."""

    def __init__(self, memory, thread, *, style):
        self.saver, self.store, self.thread = memory.checkpointer, memory.store, thread
        self.blocking = style == "sync"
        self.journal, self.raised, self.slowest = [], collections.Counter(), 0.0
        self.failed = None

    def run(self, enough):
        """Write until there is enough of it."""
        try:
            drive(self._write(enough)) if self.blocking else asyncio.run(self._write(enough))
        except BaseException as error:  # noqa: BLE001 - told to the test by `work`
            self.failed = error

    async def _write(self, enough):
        where, n = support.config(self.thread), 0
        while not enough.is_set():
            where = await self._step(where, n)
            n += 1

    async def _step(self, where, n):
        made, data = support.checkpoint(state(self.thread, n)), support.metadata(n)
        where = await self._done(self.saver, "put", where, made, data, dict(made["channel_versions"]))
        self.journal.append(("checkpoint", self.thread, n))
        task = support.task()
        await self._done(self.saver, "put_writes", where, [("list", [self.thread, n]), ("n", n)], task)
        self.journal.append(("writes", self.thread, n, task))
        key = str(n % 7)
        await self._done(self.store, "put", ("items", self.thread), key, {"n": n, "text": f"{key} {n}"})
        self.journal.append(("item", self.thread, n, key))
        found = await self._done(self.saver, "get_tuple", support.config(self.thread))
        seen = found and found.checkpoint["channel_values"]
        assert seen == state(self.thread, n), "an acknowledged checkpoint is not there"
        return where

    async def _done(self, target, name, *given):
        """Make a call, again and again until it succeeds."""
        while True:
            began = time.monotonic()
            try:
                if self.blocking:
                    return getattr(target, name)(*given)
                return await getattr(target, f"a{name}")(*given)
            except PASSING as error:
                self.raised[type(error).__name__] += 1
            finally:
                self.slowest = max(self.slowest, time.monotonic() - began)
            await self._pause()

    async def _pause(self):
        if self.blocking:
            time.sleep(0.02)  # noqa: ASYNC251 - in a thread
        else:
            await asyncio.sleep(0.02)


def work(memory, disturb, styles=("sync", "async", "sync", "async")):
    """Let writers write while something is done to their server; return them."""
    enough = threading.Event()
    writers = [Writer(memory, f"t{number}", style=style) for number, style in enumerate(styles)]
    running = [threading.Thread(target=writer.run, args=(enough,)) for writer in writers]
    for thread in running:
        thread.start()
    try:
        disturb(lambda: progress(writers))
        progress(writers)
    finally:
        enough.set()
        for thread in running:
            thread.join(60)
        if any(thread.is_alive() for thread in running):
            faulthandler.dump_traceback(file=sys.__stderr__)
    assert not any(thread.is_alive() for thread in running), "a writer hangs"
    for writer in writers:
        if writer.failed is not None:
            raise writer.failed
    return writers


def progress(writers):
    """Wait until every writer has written something more."""
    before = [len(writer.journal) for writer in writers]
    deadline = time.monotonic() + 60
    while any(len(writer.journal) <= known for writer, known in zip(writers, before, strict=True)):
        for writer in writers:
            if writer.failed is not None:
                raise writer.failed
        assert time.monotonic() < deadline, "a writer gets nothing done"
        time.sleep(0.005)


def promised(writers):
    return Promises([line for writer in writers for line in writer.journal])
