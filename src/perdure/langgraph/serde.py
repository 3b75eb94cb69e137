"""The codec under the interface that LangGraph's own code asks a saver for."""

from __future__ import annotations

from typing import Any

from perdure import errors
from perdure.core.codec import Codec

__all__ = ["CodecSerde"]

KIND = "perdure"


class CodecSerde:
    """Serializes with the closed registry of types; it knows no other kind of bytes."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return a value's kind and sealed bytes."""
        return KIND, self.codec.seal(self.codec.pack(obj))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value of what `dumps_typed` gave."""
        kind, sealed = data
        if kind != KIND:
            raise errors.UnknownTypeError(f"bytes of kind {kind!r} were not made by Perdure", tag=kind)
        return self.codec.unpack(self.codec.open(sealed))
