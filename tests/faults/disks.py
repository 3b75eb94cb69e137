"""A disk that writes down what SQLite does to it, and what may be left of that after the power fails.

A write is on disk once its file was synced after it. Of what came later each 512-byte sector may be there
or not, in any order; so may a truncation, a new file, a removed one.
"""

from __future__ import annotations

import random
from pathlib import Path

import apsw

SECTOR = 512
MAIN = "memory.db"


class Disk(apsw.VFS):
    """A VFS over the usual one that keeps a log of events. Syncs are only written down."""

    def __init__(self, name):
        super().__init__(name, "")
        self.name = name
        self.events = []

    def xOpen(self, name, flags):  # noqa: N802 - SQLite's name
        return _File(self, name, flags)

    def xDelete(self, name, syncdir):  # noqa: N802 - SQLite's name
        self.events.append(("delete", Path(name).name, syncdir))
        super().xDelete(name, syncdir)

    def note(self, *words):
        """Write down something of the test's own between the events."""
        self.events.append(("note", *words))


class _File(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        self.events = disk.events
        self.file = Path(name.filename() if isinstance(name, apsw.URIFilename) else name).name
        super().__init__("", name, flags)

    def xWrite(self, data, offset):  # noqa: N802 - SQLite's name
        self.events.append(("write", self.file, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size):  # noqa: N802 - SQLite's name
        self.events.append(("truncate", self.file, size))
        super().xTruncate(size)

    def xSync(self, flags):  # noqa: N802 - SQLite's name
        self.events.append(("sync", self.file))


class _Kept:
    """One file: what is surely on disk (None: nothing), and what has happened to it since."""

    def __init__(self):
        self.durable = None
        self.since = []

    @property
    def is_new(self):
        return self.durable is None or ("delete",) in self.since

    def sync(self):
        for event in self.since:
            self.durable = _applied(self.durable, event)
        self.since = []

    def sync_removals(self):
        while ("delete",) in self.since:
            del self.since[: self.since.index(("delete",)) + 1]
            self.durable = None

    def left(self, chosen):
        """Return what a power failure may leave of the file."""
        content = self.durable
        parts = [part for event in self.since for part in _parts(event)]
        share = chosen.choice([0.0, 0.1, 0.5, 0.9, 1.0])
        parts = [part for part in parts if chosen.random() < share]
        if chosen.random() < 0.5:
            chosen.shuffle(parts)
        for part in parts:
            content = _applied(content, part)
        return content


def _parts(event):
    """Return an event as the parts that reach the disk, or don't, on their own."""
    if event[0] != "write":
        return [event]
    _, offset, data = event
    parts, at = [], 0
    while at < len(data):
        end = min(len(data), at + SECTOR - (offset + at) % SECTOR)
        parts.append(("write", offset + at, data[at:end]))
        at = end
    return parts


def _applied(content, event):
    kind, *given = event
    if kind == "delete":
        return None
    content = bytearray(content or b"")
    if kind == "truncate":
        return content[: given[0]].ljust(given[0], b"\0")
    offset, data = given
    if len(content) < offset:
        content = content.ljust(offset, b"\0")
    content[offset : offset + len(data)] = data
    return content


def images(events, count, chosen):
    """Yield (what was noted until then, the files that are left) for crashes at random moments."""
    # A tenth of them while the file is new, when least has been synced.
    moments = sorted(chosen.randrange(min(12, len(events)) if at % 10 == 0 else len(events) + 1) for at in range(count))
    files, noted, at = {}, [], 0
    for moment in moments:
        for event in events[at:moment]:
            _happen(files, noted, event)
        at = moment
        yield list(noted), {name: kept.left(chosen) for name, kept in files.items()}


def _happen(files, noted, event):
    kind, name, *given = event
    if kind == "note":
        noted.append((name, *given))
        return
    kept = files.setdefault(name, _Kept())
    if kind == "sync":
        if kept.is_new and name != MAIN:  # SQLite then syncs the folder too, which makes removals last
            for other in files.values():
                other.sync_removals()
        kept.sync()
    elif kind == "delete":
        kept.since.append(("delete",))
        if given[0]:
            kept.sync()
    else:
        kept.since.append((kind, *given))


def write_image(folder, left):
    folder.mkdir()
    for name, content in left.items():
        if content is not None:
            (folder / name).write_bytes(content)


def seeded():
    """Return a source of chances and its seed, to name in a failure."""
    seed = random.randrange(1 << 30)
    return random.Random(seed), seed
