"""The one object that the rest of Perdure makes and reads bytes with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import ormsgpack
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage

from perdure import errors
from perdure.core.codec import envelope, locate, tags, unpacker
from perdure.core.codec.kinds import Opaque, Parts
from perdure.core.codec.packer import Packer
from perdure.core.codec.registry import MESSAGES, Registry
from perdure.core.codec.unpacker import Refs
from perdure.core.codec.walker import Walker


class Codec:
    """Turns values into bytes and back; knows its own types, and the users' that were registered with it."""

    def __init__(self, types: Iterable[type] = ()) -> None:
        self._registry = Registry()
        self.register(*types)

    def register(self, *types: type) -> None:
        """Let stored values hold these classes, and those their fields are declared with.

        Takes pydantic models, dataclasses, enums and named tuples; raises UnsupportedValueError for any other.
        """
        self._registry.register(types)

    def pack(self, value: object, path: str = "$") -> bytes:
        """Return a value's bytes, equal for equal values built the same way.

        A user's class met here is registered. Raises UnsupportedValueError, with the path that begins with `path`,
        for what would not come back equal and of the same type.
        """
        return self._pack(value, path, spliced=False)

    def pack_tree(self, tree: object) -> bytes:
        """Return the bytes of a value in which some parts are `ormsgpack.Ext` already."""
        return self._pack(tree, "$", spliced=True)

    def _pack(self, value: object, path: str, *, spliced: bool) -> bytes:
        try:
            return Packer(self._registry, spliced=spliced).pack(value)
        except (TypeError, RecursionError):
            pass  # ormsgpack hides the reason: the walk finds it, or manages
        try:
            return Walker(self._registry, spliced=spliced).pack(value)
        except (errors.UnsupportedValueError, RecursionError):
            raise self._refusal(value, path, spliced=spliced) from None

    def _refusal(self, value: object, path: str, *, spliced: bool) -> errors.UnsupportedValueError:
        def attempt(part: object, depth: int) -> errors.UnsupportedValueError | None:
            try:
                Walker(self._registry, spliced=spliced, depth=depth).pack(part)
            except errors.UnsupportedValueError as error:
                return error
            except RecursionError:
                return errors.UnsupportedValueError("Nested too deeply for this call stack. Keep a flatter value.")
            return None

        return locate.refused(value, path, attempt, self._registry.kinds)

    def unpack(self, data: bytes, *, where: str = "", refs: Refs | None = None) -> object:
        """Return the value of packed bytes; `where` is named in errors.

        `refs` is called with each extension code of `REF_CODES` and its payload. Raises CorruptValueError, or
        UnknownTypeError for a class that was not registered.
        """
        return unpacker.unpack(self._registry, data, where=where, refs=refs)

    def scan(self, data: bytes, *, where: str = "", refs: Refs) -> object:
        """Call `refs` with each extension code of `REF_CODES` in packed bytes, and make no values.

        What was registered does not matter. Returns the plain lists, maps and scalars around them.
        """
        return unpacker.scan(data, where=where, refs=refs)

    def unpack_opaque(self, data: bytes, *, where: str = "", refs: Refs | None = None) -> object:
        """Return the value for looking at: what is of an unknown class is an `Opaque`, which packs as it was."""
        return unpacker.unpack(self._registry, data, where=where, refs=refs, opaque=True)

    def foreign(self, tag: str, body: object, how: int) -> object:
        """Return the value that another serializer took apart: itself if its class is registered, or an `Opaque`.

        `tag` is ``module:name``, and nothing is imported by it. `how` is that serializer's code for the way to make it.
        """
        return self.unpack_opaque(self.pack_tree(ormsgpack.Ext(tags.USER, self.pack([tag, body, how]))), where=tag)

    def parts(self, value: object) -> Parts | None:
        """Return what a composed value's encoding is made of; None for a leaf, a plain list and a plain dict.

        ``ormsgpack.Ext(code, pack_tree(payload))`` is the encoding. Raises UnsupportedValueError, as `pack` does.
        """
        cls = type(value)
        if cls is Opaque:
            return None
        if cls is list or (cls is dict and all(type(key) is str for key in value)):  # type: ignore[attr-defined]
            return None
        kind = self._registry.adopt(cls)
        if kind is None or kind.leaf or self.is_message(value):
            return None
        return Parts(kind.code, kind.take(value))

    def is_message(self, value: object) -> bool:
        """Tell whether a value is a message or document."""
        return type(value) in MESSAGES or isinstance(value, BaseMessage | Document)

    def seal(self, packed: bytes) -> bytes:
        """Return packed bytes as they are stored: compressed if that helps, with version and checksum."""
        return envelope.seal(packed)

    def open(self, sealed: bytes, *, where: str = "") -> bytes:
        """Return the packed bytes of stored ones; raises CorruptValueError, which names `where`, if they changed."""
        return envelope.open_(sealed, where=where)

    def digest(self, packed: bytes) -> bytes:
        """Return the 16 bytes by which a stored copy of packed bytes is found again."""
        return hashlib.blake2b(packed, digest_size=16).digest()


def describe_exception(error: BaseException) -> str:
    """Return an exception's type and text, the form in which ERROR writes keep it."""
    try:
        return repr(error)
    except Exception:  # noqa: BLE001 - an exception's own repr may fail; telling its type is better than failing too
        return f"{type(error).__name__}()"
