"""Histories: all that was ever said in a thread, read from the ranges that its checkpoints hold.

No checkpoint's list is put together for it: of each only the parts of logs are looked at that no other one has
shown yet, and each entry is decoded once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import ormsgpack
from langchain_core.messages import BaseMessage

from perdure import errors
from perdure.core import lookups, pieces, pointers, records, spans
from perdure.core.codec import Codec, Opaque
from perdure.core.conversations import marks
from perdure.core.decoding import Decoder, contents
from perdure.core.entries import Cache, Caches
from perdure.core.threads import State
from perdure.core.trees import LIST, PIECES, REF
from perdure.core.unit import Unit
from perdure.model import Address, Said

__all__ = ["Walk", "said", "unreadable", "walk"]

Place = tuple[int, int]
Part = tuple[int, int, int]
"""A log, and from where up to where."""
_ANCESTORS = 256


@dataclass(slots=True)
class Step:
    """What some consecutive checkpoints hold: since when, and the stored bytes of the channel."""

    at: str
    number: int
    packed: bytes


@dataclass(slots=True)
class Walk:
    """A thread's line of checkpoints, oldest first, their entries in the cache. No state: there is no such thread."""

    state: State | None
    cache: Cache = field(default_factory=Cache)
    steps: list[Step] = field(default_factory=list)


@lookups.steady
async def walk(unit: Unit, codec: Codec, caches: Caches, address: Address, channel: str) -> Walk:
    """Return what a channel held in the newest checkpoint of a namespace and in each of its ancestors."""
    state, head = await lookups.seen(unit, codec, caches, address)
    if head is None:
        return Walk(state)
    line = [head.record]
    while line[-1].parent is not None:
        last = line[-1]
        where = {"generation": head.cache.generation, "ns": last.ns, "seq": last.parent}
        rows = await unit.all("checkpoint_ancestors", **where, limit=_ANCESTORS - 1)
        if not rows:
            break
        line += [records.load(codec, row, str(address)) for row in rows]
    steps: list[Step] = []
    for record in reversed(line):
        packed = _packed(record, channel, str(address))
        if not steps or steps[-1].packed != packed:
            steps.append(Step(record.ts, int(record.metadata.get("step") or 0), packed))
    every = [*dict.fromkeys(step.packed for step in steps)]
    await pointers.fetch(unit, codec, head.cache, every, str(address), thread=address.thread)
    return Walk(state, head.cache, steps)


_EMPTY = ormsgpack.packb([])


def _packed(record: records.Record, channel: str, where: str) -> bytes:
    packed = record.channels.get(channel)
    if packed is None and channel in record.versions:
        raise unreadable(where, channel)
    return _EMPTY if packed is None else packed


def unreadable(where: str, channel: str) -> errors.InvalidInputError:
    """Return the error for a channel that keeps no list of messages."""
    return errors.InvalidInputError(
        f"{where}: channel {channel!r} keeps no list of messages, so it is no history (only its graph can put a "
        "DeltaChannel's together: use get_state). Name the channel that does with memory.history(…, channel=…)"
    )


def said(codec: Codec, found: Walk, where: str, channel: str) -> list[Said]:
    """Return each message once, in the order in which they first appeared.

    Of several that had one id it is the last one, but never the mark in the place of a result that was cleared.
    """
    lines = [_Outline(codec, found.cache, where).parts(step.packed) for step in found.steps]
    if None in lines:
        raise unreadable(where, channel)
    every: list[list[Part]] = [line for line in lines if line is not None]
    last = {place: len(every) - 1 - at for place, at in _sightings(every[::-1])}
    decoder, versions = Decoder(codec, found.cache, where), dict[object, _Versions]()
    for (log, pos), at in _sightings(every):
        message = decoder.value(contents(found.cache.logs[log][pos].packed or b""))
        if not isinstance(message, BaseMessage | Opaque):
            raise unreadable(where, channel)
        key = getattr(message, "id", None) or (log, pos)
        versions.setdefault(key, _Versions(at)).add(message, last[log, pos])
    return [known.said(found.steps) for known in versions.values()]


def _sightings(lines: list[list[Part]]) -> list[tuple[Place, int]]:
    """Return each entry once, and the first of the lines that it is in."""
    known: dict[int, list[spans.Span]] = {}
    found: list[tuple[Place, int]] = []
    for at, line in enumerate(lines):
        for log, start, end in line:
            new = spans.subtract([(start, end)], known.get(log, []))
            if new:
                known[log] = spans.merge([*known.get(log, []), *new])
                found += [((log, pos), at) for low, high in new for pos in range(low, high)]
    return found


@dataclass(slots=True)
class _Versions:
    """What one id has stood for: when it first did, and which was seen last."""

    first: int
    last: int = -1
    told: tuple[bool, int] = (False, -1)
    message: Any = None

    def add(self, message: BaseMessage | Opaque, last: int) -> None:
        told = (isinstance(message, Opaque) or marks.kind_of(message) != "cleared", last)
        if self.message is None or told > self.told:
            self.message, self.told = message, told
        self.last = max(self.last, last)

    def said(self, steps: list[Step]) -> Said:
        first = steps[self.first]
        return Said(self.message, datetime.fromisoformat(first.at), first.number, self.last == len(steps) - 1)


class _Outline:
    """Takes a stored list apart: which parts of logs it holds, in its order. Nodes are read once."""

    def __init__(self, codec: Codec, cache: Cache, where: str) -> None:
        self._codec = codec
        self._cache = cache
        self._where = where
        self._nodes: dict[Place, list[Part] | None] = {}

    def parts(self, packed: bytes) -> list[Part] | None:
        """Return the parts of a list; None if it is none, or holds something other than entries."""
        found = self._codec.scan(contents(packed), where=self._where, refs=self._point)
        return None if type(found) is not list or not all(type(part) is tuple for part in found) else found

    def _point(self, code: int, payload: bytes) -> object:
        if code == REF:
            log, pos = ormsgpack.unpackb(payload)
            return self._node(log, pos)
        if code not in {LIST, PIECES}:
            return None
        parts: list[Part] = []
        flat: Any = self._codec.scan(payload, where=self._where, refs=_nothing)
        for kind, log, start, count, _ in pieces.unflatten(flat):
            inner = [(log, start, start + count)] if kind == "range" else None
            inner = self._node(log, start) if kind == "splice" else inner
            if inner is None:
                return None
            parts += inner
        return parts

    def _node(self, log: int, pos: int) -> list[Part] | None:
        if (log, pos) not in self._nodes:
            self._nodes[log, pos] = None  # an entry that leads to itself holds nothing
            self._nodes[log, pos] = self.parts(self._cache.logs[log][pos].packed or b"")
        return self._nodes[log, pos]


def _nothing(code: int, payload: bytes) -> object:  # noqa: ARG001 - as the codec calls it
    return None
