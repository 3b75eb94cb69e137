"""A PostgreSQL of a test module's own, to kill, freeze and restart, and what must be left of a memory that used it."""

from __future__ import annotations

import contextlib
import gc
import itertools
import secrets
import threading
import time
from pathlib import Path

import psutil
import psycopg
from tests import databases, servers

from perdure import Memory

APPLICATION = databases.APPLICATION
OURS = ("perdure", "pool-")


class Own:
    """A server with a database for each that asks."""

    def __init__(self, server):
        self.server = server
        self._numbers = itertools.count()
        self.ask("CREATE DATABASE prepared TEMPLATE template0")
        databases.prepare(server.url("prepared"))

    def database(self):
        """Make a database in which Perdure is set up; return the URL that an application has."""
        name = f"d{next(self._numbers)}"
        self.ask(f"CREATE DATABASE {name} TEMPLATE prepared")
        return self.server.url(name, user=APPLICATION)

    def ask(self, sql, *given):
        """Run a statement as the administrator, on a connection of its own."""
        with psycopg.connect(self.server.url(), autocommit=True) as connection:
            cursor = connection.execute(sql, given)
            return cursor.fetchall() if cursor.description else []

    def backends(self):
        """Return the process ids of the applications' connections."""
        return {pid for (pid,) in self.ask("SELECT pid FROM pg_stat_activity WHERE usename = %s", APPLICATION)}

    def sessions(self, url):
        """Return the connections of a database's applications, with what each did last."""
        name = url.rpartition("/")[2].partition("?")[0]
        sql = "SELECT pid, state, query FROM pg_stat_activity WHERE usename = %s AND datname = %s"
        return self.ask(sql, APPLICATION, name)

    def end(self, pids):
        """End connections, and wait until they are gone: a process leaves the list before it closes its socket."""
        self.ask("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) pid", list(pids))
        eventually(lambda: not any(map(psutil.pid_exists, pids)), lambda: "a connection lives on")


@contextlib.contextmanager
def server(**options):
    with servers.Server(servers.HOME / f"own-{secrets.token_hex(6)}", **options) as started:
        yield Own(started)


def eventually(true, what, seconds=30):
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what()
        time.sleep(0.01)


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith(OURS)]


def files():
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def idle(memory):
    """Tell whether no connection of a memory is in use and nobody waits for one."""
    figures = memory.engine._pools.state().values()
    return all(f["pool_available"] == f["pool_size"] and not f["requests_waiting"] for f in figures)


@contextlib.contextmanager
def watched(own, url, **options):
    """Open a memory, and see at the end that its pools are at rest, and that closing it leaves nothing."""
    before = files(), len(threads())
    memory = Memory.open(url, pool={"max_size": 4, **options})
    try:
        yield memory
        if not memory.engine._pools._closed:
            eventually(lambda: idle(memory), memory.engine._pools.state)
            held = sum(figures["pool_size"] for figures in memory.engine._pools.state().values())
            eventually(lambda: files() and len(own.sessions(url)) <= held, lambda: (held, own.sessions(url)))
    finally:
        memory.close()
    eventually(lambda: not own.sessions(url), lambda: own.sessions(url))
    eventually(lambda: (files(), len(threads())) == before, lambda: (before, files(), threads()))
