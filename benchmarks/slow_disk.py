"""A disk whose sync takes 4 ms, as many have in data centers: a VFS of apsw that sleeps before it syncs."""

from __future__ import annotations

import time

import apsw

__all__ = ["SECONDS", "register"]

SECONDS = 0.004
"""What a sync takes, on top of what it takes on the disk as it is."""

_NAME = "slow"
_registered: list[apsw.VFS] = []


class _SlowFile(apsw.VFSFile):
    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        time.sleep(SECONDS)
        super().xSync(flags)


class _SlowDisk(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(_NAME, base="")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> _SlowFile:  # noqa: N802 - SQLite's name
        return _SlowFile("", name, flags)


def register() -> str:
    """Register the VFS in this process, once, and return its name."""
    if not _registered:
        _registered.append(_SlowDisk())
    return _NAME
