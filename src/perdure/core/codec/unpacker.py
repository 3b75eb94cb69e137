"""Bytes -> value, by our own decoders only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import ormsgpack

from perdure import errors
from perdure.core.codec import locate, tags, user
from perdure.core.codec.kinds import Opaque
from perdure.core.codec.packer import MAX_DEPTH
from perdure.core.codec.registry import MAKERS, Registry, opaque_parts
from perdure.core.codec.skim import depth_of

Refs = Callable[[int, bytes], object]

# Nested extensions re-enter the C parser, which allows 1,024 levels at each entry and uses about 500 bytes of stack
# for one: from the third entry on, the levels are counted before they are entered.
_UNCOUNTED: Final = 2
_MAX_LEVELS: Final = 6_000
_MAX_DEPTH: Final = MAX_DEPTH + 8  # the innermost leaf has tags too


class Unpacker:
    """One run of unpacking."""

    __slots__ = ("by_name", "by_tag", "depth", "error", "levels", "opaque", "refs")

    def __init__(self, registry: Registry, *, refs: Refs | None, opaque: bool) -> None:
        self.by_tag = registry.by_tag
        self.by_name = registry.by_name
        self.refs = refs
        self.opaque = opaque
        self.depth = 0
        self.levels = 0
        self.error: Exception | None = None

    def unpack(self, data: bytes) -> object:
        """Return the value; any error is the one our hook met, which ormsgpack itself would hide."""
        try:
            return ormsgpack.unpackb(data, ext_hook=self.hook)
        except (ValueError, TypeError, RecursionError) as error:
            raise self.error or error from None

    def hook(self, code: int, payload: bytes) -> object:
        """Make the value of an extension."""
        try:
            return self.make(code, payload)
        except Exception as error:
            self.error = self.error or error
            raise

    def make(self, code: int, payload: bytes) -> object:
        """Decode a payload and hand it to its maker."""
        make = MAKERS.get(code)
        if make is not None:
            return make(self.inner(payload))
        if code == tags.USER:
            return self.user(payload)
        if self.refs is not None and code in tags.REF_CODES:
            return self.refs(code, payload)
        raise errors.CorruptValueError(f"unknown type tag {code}")

    def inner(self, payload: bytes) -> Any:
        """Unpack a payload, one level down."""
        self.depth += 1
        levels = 0
        if self.depth > _UNCOUNTED:
            levels = depth_of(payload)
            self.levels += levels
            if self.depth > _MAX_DEPTH or self.levels > _MAX_LEVELS:
                raise errors.CorruptValueError("nested too deeply")
        value = ormsgpack.unpackb(payload, ext_hook=self.hook)
        self.depth -= 1
        self.levels -= levels
        return value

    def user(self, payload: bytes) -> object:
        """Make a value of a user's class, if this process has registered it."""
        inner = self.inner(payload)
        tag, body, how = opaque_parts(inner)
        kind = self.by_tag.get(tag) or (self.by_name.get(tag) if how is not None else None)
        if kind is not None:
            try:
                return kind.make(inner[1:]) if how is None else user.revive(kind, body)
            except errors.StoredValueError:
                if not self.opaque:
                    raise
        if self.opaque:
            return Opaque(tag, body, payload, how)
        raise errors.UnknownTypeError(tag, tag=tag)


class Scanner(Unpacker):
    """One run over packed bytes that makes nothing: it only shows the reserved extensions to `refs`."""

    __slots__ = ()

    def make(self, code: int, payload: bytes) -> object:
        """Show a reserved extension, or look inside any other."""
        if code in tags.REF_CODES and self.refs is not None:
            return self.refs(code, payload)
        self.inner(payload)
        return None


def scan(data: bytes, *, where: str, refs: Refs) -> object:
    """Show `refs` every reserved extension in packed bytes; return the plain values around them."""
    try:
        return Scanner(_NOTHING, refs=refs, opaque=False).unpack(data)
    except errors.CorruptValueError as error:
        raise errors.CorruptValueError(f"{where or 'A stored value'} is damaged: {error}.") from error
    except Exception as error:
        raise errors.CorruptValueError(f"{where or 'A stored value'} is damaged: {error!r}.") from error


_NOTHING = Registry()


def unpack(registry: Registry, data: bytes, *, where: str, refs: Refs | None, opaque: bool = False) -> object:
    """Return the value of packed bytes, or an error that names `where`."""
    try:
        return Unpacker(registry, refs=refs, opaque=opaque).unpack(data)
    except errors.UnknownTypeError as error:
        raise _unknown(registry, data, error.tag, where, refs) from None
    except errors.CorruptValueError as error:
        if where and str(error).startswith(where):  # said already, by what an entry inside found
            raise
        raise errors.CorruptValueError(f"{where or 'A stored value'} is damaged: {error}.") from error
    except errors.PerdureError as error:
        raise type(error)(f"{where or 'A stored value'}: {error}") from error
    except Exception as error:
        raise errors.CorruptValueError(f"{where or 'A stored value'} is damaged: {error!r}.") from error


def _unknown(registry: Registry, data: bytes, tag: str, where: str, refs: Refs | None) -> errors.UnknownTypeError:
    try:
        value = Unpacker(registry, refs=refs, opaque=True).unpack(data)
    except Exception:  # noqa: BLE001 - damaged elsewhere too: the first error is the one to tell
        path = "$"
    else:
        path = locate.opaque(value, tag, "$")
    message = (
        f"{where or 'A stored value'} holds a {tag} at {path}, which this process has not registered. {_advice(tag)}"
    )
    return errors.UnknownTypeError(message, tag=tag, path=path)


def _advice(tag: str) -> str:
    module, _, name = tag.partition(":")
    if "<locals>" in name:
        return (
            f"Move {name.rpartition('.')[2]} to the top of its module and register it, or pass this one in types=[…]."
        )
    outer = name.partition(".")[0]
    return f"Add it: `Memory.open(url, types=[{name}])  # from {module} import {outer}`, or `memory.register(graph)`."
