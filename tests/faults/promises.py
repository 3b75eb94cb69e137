"""Writes that are acknowledged one by one, and what must be found of them later."""

from __future__ import annotations

from collections import defaultdict

import apsw
from tests import support


def state(thread, n):
    """A list that grows, a large value, a dictionary of files: ranges, entries of their own, keys."""
    return {
        "n": n,
        "list": [f"{thread} {at} " + "x" * (at % 150) for at in range(max(0, n - 40), n)],
        "large": f"{thread} {n} " * 50,
        "files": {f"f{at}": f"{thread} {at} " * 20 for at in range(n % 40)},
    }


def keep_writing(memory, thread, acknowledge, *, steps=1 << 30, early=False):
    """Write the steps of a thread, and say of each write when it is done; or before, for a control."""
    saver = memory.checkpointer
    where = support.config(thread)
    for n in range(steps):
        if early:
            acknowledge("checkpoint", thread, n)
        where = support.put(saver, where, state(thread, n), step=n)
        if not early:
            acknowledge("checkpoint", thread, n)
        task = support.task()
        saver.put_writes(where, [("list", [thread, n]), ("n", n)], task)
        acknowledge("writes", thread, n, task)
        if n % 2:
            key = str(n % 7)
            memory.store.put(("items", thread), key, {"n": n, "text": f"{key} {n}"})
            acknowledge("item", thread, n, key)


class Promises:
    """What had been acknowledged until some moment."""

    def __init__(self, acknowledged):
        self.checkpoints = defaultdict(int)
        self.writes = defaultdict(set)
        self.items = defaultdict(dict)
        for kind, thread, n, *more in acknowledged:
            if kind == "checkpoint":
                self.checkpoints[thread] = int(n) + 1
            elif kind == "writes":
                self.writes[thread, int(n)].update(more)
            else:
                self.items[thread][more[0]] = int(n)


def broken(memory, promises):
    """Return everything that isn't as it was promised."""
    found = []
    for thread, count in promises.checkpoints.items():
        listed = list(memory.checkpointer.list(support.config(thread)))
        order = [item.checkpoint["channel_values"]["n"] for item in listed]
        if order != list(reversed(range(len(order)))) or not count <= len(order) <= count + 1:
            found.append(("order", thread, count, order))
        for item in listed:
            found += _torn(item, thread, promises.writes)
    for thread, items in promises.items.items():
        for key, n in items.items():
            item = memory.store.get(("items", thread), key)
            if item is None or item.value["n"] < n or item.value["text"] != f"{key} {item.value['n']}":
                found.append(("item", thread, key, n))
    return found


def _torn(item, thread, writes):
    n = item.metadata["step"]
    if item.checkpoint["channel_values"] != state(thread, n):
        yield "torn", thread, n
    if not writes[thread, n] <= {task for task, _, _ in item.pending_writes}:
        yield "writes", thread, n
    if any(value not in ([thread, n], n) for _, _, value in item.pending_writes):
        yield "torn writes", thread, n


def sound(url):
    """Whether SQLite finds nothing wrong. Not while this process has the file open otherwise."""
    connection = apsw.Connection(url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READONLY)
    found = connection.execute("PRAGMA integrity_check").get
    connection.close()
    return found == "ok"
