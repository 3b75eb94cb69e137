"""The fast way to a value's bytes: ormsgpack writes each plain region, our hook every other value.

Where that would change something or fails (keys that are no strings, lone surrogates, bytearrays, deep nesting, a
value that can't be kept) it gives up with a TypeError, and `walker` goes over the value step by step.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any, Final

import ormsgpack
from ormsgpack import Ext, Fragment

from perdure.core.codec import tags
from perdure.core.codec.kinds import Opaque
from perdure.core.codec.registry import Registry

MAX_DEPTH: Final = 100
OPTIONS: Final = reduce(
    or_,
    (
        ormsgpack.OPT_PASSTHROUGH_BIG_INT,
        ormsgpack.OPT_PASSTHROUGH_DATACLASS,
        ormsgpack.OPT_PASSTHROUGH_DATETIME,
        ormsgpack.OPT_PASSTHROUGH_ENUM,
        ormsgpack.OPT_PASSTHROUGH_SUBCLASS,
        ormsgpack.OPT_PASSTHROUGH_TUPLE,
        ormsgpack.OPT_PASSTHROUGH_UUID,
    ),
)
LEAVES: Final = frozenset({str, int, float, bool, type(None), bytes})
_BENT: Final = frozenset({bytearray, memoryview, Ext, Fragment})
CONTAINERS: Final = frozenset({list, dict})
SPLICED: Final = frozenset({Ext, Fragment})
_pack = ormsgpack.packb


class BentError(TypeError):
    """Native packing would change this region, or nest too deeply: walk it instead."""


def region_depth(value: Any, bent: frozenset[type], left: int) -> int:
    """Return how deep a plain region goes; raise BentError if native packing would change anything in it."""
    kind = type(value)
    if kind is list:
        return 1 + _deepest(value, bent, left)
    if kind is dict:
        return 1 + _deepest(value.values(), bent, left)
    if kind in bent:
        raise BentError
    return 0


def _deepest(parts: Iterable[Any], bent: frozenset[type], left: int) -> int:
    if LEAVES.issuperset(map(type, parts)):
        return 0
    kinds = set(map(type, parts))
    if left <= 0 or not kinds.isdisjoint(bent):
        raise BentError
    if kinds.isdisjoint(CONTAINERS):
        return 0
    deepest = 0
    for part in parts:
        if type(part) in CONTAINERS and (deep := region_depth(part, bent, left - 1)) > deepest:
            deepest = deep
    return deepest


class Packer:
    """One run of native packing."""

    __slots__ = ("bent", "depth", "kinds", "registry")

    def __init__(self, registry: Registry, *, spliced: bool) -> None:
        self.registry = registry
        self.kinds = registry.kinds
        self.bent = _BENT - SPLICED if spliced else _BENT
        self.depth = 0

    def pack(self, value: object) -> bytes:
        """Pack a value and all it holds."""
        deep = region_depth(value, self.bent, MAX_DEPTH - self.depth)
        self.depth += deep
        data = _pack(value, self.hook, OPTIONS)
        self.depth -= deep
        return data

    def hook(self, value: object) -> Ext:
        """Pack what MessagePack has no word for."""
        kind = self.kinds.get(type(value))
        if kind is None:
            if type(value) is Opaque:
                return Ext(tags.USER, value.raw)
            kind = self.registry.of(value)
        payload = kind.take(value)
        if kind.unordered:
            return Ext(kind.code, self.members(payload))
        deep = region_depth(payload, self.bent, MAX_DEPTH - self.depth)
        self.depth += deep
        data = _pack(payload, self.hook, OPTIONS)
        self.depth -= deep
        return Ext(kind.code, data)

    def members(self, payload: Any) -> bytes:
        """Pack the members of a set."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BentError
        data = joined(map(self.pack, payload))
        self.depth -= 1
        return data


def joined(packed: Iterable[bytes]) -> bytes:
    """Return packed members as one packed list, in an order that is theirs alone."""
    return _pack([Fragment(part) for part in sorted(packed)])
