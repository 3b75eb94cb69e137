"""The exact way to a value's bytes: a walk that builds what packs natively, and the same bytes as the fast way."""

from __future__ import annotations

from typing import Any, Final

import ormsgpack
from ormsgpack import Ext

from perdure import errors
from perdure.core.codec import tags
from perdure.core.codec.kinds import Opaque
from perdure.core.codec.packer import CONTAINERS, LEAVES, MAX_DEPTH, OPTIONS, SPLICED, joined
from perdure.core.codec.registry import Registry

_MIN_INT: Final = -(1 << 63)
_MAX_INT: Final = (1 << 64) - 1


class Walker:
    """One exact walk: builds the tree that packs natively, with an `Ext` for every value that is not plain."""

    __slots__ = ("depth", "registry", "spliced")

    def __init__(self, registry: Registry, *, spliced: bool, depth: int = 0) -> None:
        self.registry = registry
        self.spliced = spliced
        self.depth = depth

    def pack(self, value: object) -> bytes:
        """Pack a value and all it holds."""
        return ormsgpack.packb(self.tree(value), None, OPTIONS)

    def tree(self, value: Any) -> object:
        """Return the plain tree of a value."""
        kind = type(value)
        if kind is str:
            return value if _encodable(value) else self.ext(value)
        if kind is int:
            return value if _MIN_INT <= value <= _MAX_INT else self.ext(value)
        if kind in LEAVES:
            return value
        if kind in CONTAINERS:
            return self.container(value)
        if kind in SPLICED and self.spliced:
            return value
        return self.ext(value)

    def container(self, value: Any) -> object:
        """Return the tree of a list or dict."""
        if type(value) is dict and not all(type(key) is str and _encodable(key) for key in value):
            return self.ext(value)
        self.enter()
        if type(value) is list:
            tree: object = [self.tree(part) for part in value]
        else:
            tree = {key: self.tree(part) for key, part in value.items()}
        self.depth -= 1
        return tree

    def ext(self, value: object) -> Ext:
        """Return a value as tag and packed payload."""
        if type(value) is Opaque:
            return Ext(tags.USER, value.raw)
        kind = self.registry.of(value)
        payload: Any = kind.take(value)
        return Ext(kind.code, self.members(payload) if kind.unordered else self.pack(payload))

    def members(self, payload: Any) -> bytes:
        """Pack the members of a set."""
        self.enter()
        data = joined(map(self.pack, payload))
        self.depth -= 1
        return data

    def enter(self) -> None:
        """Go one level down."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise errors.UnsupportedValueError(
                f"Nested more than {MAX_DEPTH} levels deep, or inside itself. Keep a flatter value."
            )


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
