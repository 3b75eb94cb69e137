"""A clock that only goes when it is put forward."""

from __future__ import annotations

import dataclasses
import datetime as dt

from perdure import Memory

MINUTE = 60_000_000
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Clock:
    """A fake clock, in microseconds."""

    def __init__(self):
        self.now = 1_800_000_000_000_000

    def __call__(self):
        return self.now

    def forward(self, minutes):
        self.now += round(minutes * MINUTE)

    @property
    def moment(self):
        return EPOCH + dt.timedelta(microseconds=self.now)


def clocked(memory, clock):
    """Return the memory with another clock."""
    return Memory(dataclasses.replace(memory._calls, clock=clock))
