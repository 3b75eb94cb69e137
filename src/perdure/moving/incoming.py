"""Stock savers' bytes -> values, by makers of our own: nothing that the bytes name is ever imported or called.

LangGraph's serializer writes the module and name of a class beside what it took apart. Those on its own list of safe
types are made as it makes them; any other becomes what `Codec.foreign` gives: itself if it is registered here, else an
opaque value that is stored again as it was.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any, Final

import ormsgpack
import pydantic
from langgraph import types
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from perdure import errors
from perdure.core.codec import Codec
from perdure.moving import legacy

__all__ = ["METHOD", "MODEL", "MODEL_V1", "POSITIONAL", "Incoming"]

SINGLE: Final = 0
POSITIONAL: Final = 1
NAMED: Final = 2
METHOD: Final = 3
MODEL_V1: Final = 4
MODEL: Final = 5
ARRAY: Final = 6
DELTA: Final = 7

_DEEPEST: Final = 100
_KEPT_BYTES: Final = 64 << 20
_MOVED: Final = {"pathlib._local": "pathlib"}  # where Python 3.13 has its paths


def _make_pattern(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
    return re.compile(pattern, flags & ~re.DEBUG)


def _make_send(node: str, arg: object, timeout: Any = None) -> types.Send:
    return types.Send(node, arg) if timeout is None else types.Send(node, arg, timeout=timeout)


def _found(module: str, name: str) -> Any:
    return getattr(importlib.import_module(_MOVED.get(module, module)), name)


# The names are LangGraph's code's, not the database's.
SAFE: Final[dict[tuple[str, str], Any]] = {
    **{(module, name): _found(module, name) for module, name in SAFE_MSGPACK_TYPES},
    ("pydantic.types", "SecretStr"): pydantic.SecretStr,
    ("pydantic.types", "SecretBytes"): pydantic.SecretBytes,
    ("langgraph.types", "StateUpdate"): types.StateUpdate,
    ("langgraph.types", "Send"): _make_send,
    ("re", "compile"): _make_pattern,
}


class Incoming:
    """Decodes the values of one database.

    Messages that come again, as they do in every checkpoint of a conversation, are made once; so what it gives out is
    not to be changed.
    """

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self._kept: dict[bytes, object] = {}
        self._kept_bytes = 0
        self._depth = 0
        self._error: Exception | None = None

    def value(self, kind: str | None, data: bytes | None, where: str) -> Any:
        """Return the value of a column and the kind beside it. `where` begins the message of an error.

        Raises RefusedValueError for what is never loaded, a pickle first of all, and CorruptValueError.
        """
        if kind == "null" or (kind is None and data is None):
            return None
        if kind in {"bytes", "bytearray"}:
            return data if kind == "bytes" else bytearray(data or b"")
        try:
            if kind == "msgpack":
                return self._unpack(data or b"")
            if kind == "json":
                return legacy.loads(data or b"", SAFE, self.codec)
        except errors.PerdureError as error:
            raise type(error)(f"{where}: {error}") from error
        except Exception as error:
            raise errors.CorruptValueError(f"{where}: the stored value can't be read ({error!r})") from error
        raise errors.RefusedValueError(f"{where}: {_refusal(kind)}")

    def _unpack(self, data: bytes) -> Any:
        self._depth, self._error = 0, None
        try:
            return ormsgpack.unpackb(data, ext_hook=self._hook, option=ormsgpack.OPT_NON_STR_KEYS)
        except Exception as error:  # noqa: BLE001 - whatever the hook met
            raise self._error or error from None

    def _hook(self, code: int, data: bytes) -> object:
        """Make the value of an extension; ormsgpack would hide the error, so it is kept."""
        try:
            return self._make(code, data)
        except Exception as error:
            self._error = self._error or error
            raise

    def _make(self, code: int, data: bytes) -> object:
        if code == MODEL and (known := self._kept.get(data)) is not None:
            return known
        self._depth += 1
        if self._depth > _DEEPEST:
            raise errors.CorruptValueError("it is nested too deeply")
        inner: Any = ormsgpack.unpackb(data, ext_hook=self._hook, option=ormsgpack.OPT_NON_STR_KEYS)
        self._depth -= 1
        if code == DELTA:
            return _DeltaSnapshot(inner)
        if code == ARRAY:
            return _array(*inner)
        if not SINGLE <= code <= MODEL:
            raise errors.CorruptValueError(f"it has an extension of an unknown kind, {code}")
        return self._object(code, data, inner)

    def _object(self, code: int, data: bytes, inner: Any) -> object:
        module, name, body = inner[:3]
        make = SAFE.get((module, name))
        if code == METHOD:
            if make is not None and inner[3] == "fromisoformat" and name in {"datetime", "date", "time"}:
                return make.fromisoformat(body)
            return self.codec.foreign(f"{module}:{name}", [body, inner[3]], code)
        if make is None:
            return self.codec.foreign(f"{module}:{name}", body, code)
        value = _built(make, code, body)
        if code == MODEL:
            self._keep(data, value)
        return value

    def _keep(self, data: bytes, value: object) -> None:
        if self._kept_bytes > _KEPT_BYTES:
            self._kept.clear()
            self._kept_bytes = 0
        self._kept[data] = value
        self._kept_bytes += len(data)


def _built(make: Callable[..., object], code: int, body: Any) -> object:
    if code == SINGLE:
        return make(body)
    if code == POSITIONAL:
        return make(*body)
    if code == NAMED:
        return make(**body)
    try:
        return make(**body)
    except pydantic.ValidationError:
        constructed: object = make.model_construct(**body)  # type: ignore[attr-defined]
        return constructed  # as the stock serializer does


def _array(dtype: str, shape: list[int], order: Any, data: bytes) -> object:
    try:
        numpy = importlib.import_module("numpy")
    except ImportError:
        raise errors.ConfigurationError("it is an array: install numpy to move it") from None
    return numpy.frombuffer(data, dtype=numpy.dtype(dtype)).reshape(shape, order=order)


def _refusal(kind: str | None) -> str:
    if kind == "pickle":
        return (
            "the value is a pickle, which could run code as it is read, so it is never loaded. Let the application "
            "that wrote it store the thread again without pickle_fallback, or leave the thread out"
        )
    return (
        f"the value is of the kind {kind!r}, which only the application that wrote it can read (it may be encrypted). "
        "Let it store the thread again with the stock serializer, or leave the thread out"
    )
