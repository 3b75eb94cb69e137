"""Ids: what may be one, and how it is kept in a key."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TypeGuard

from perdure import errors

__all__ = ["are_plain", "check", "is_uuid", "pack", "printable", "unpack"]

LONGEST = 255
"""Characters in an id."""

_CONTROL = re.compile("[\x00-\x1f\x7f\x80-\x9f\u2028\u2029\ud800-\udfff]")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID_BYTES = 16


def check(value: object, what: str, *, longest: int = LONGEST, empty: bool = False) -> str:
    """Return `value` if it is a usable id. Raises InvalidIdError that names `what` it should be."""
    if type(value) is not str and not isinstance(value, str):
        msg = f"{what} must be a string, not {type(value).__name__}: pass str(…) yourself, so that no two ids meet"
        raise errors.InvalidIdError(msg)
    if not value and not empty:
        msg = f"{what} is empty; give it at least one character"
        raise errors.InvalidIdError(msg)
    if len(value) > longest:
        msg = f"{what} has {len(value)} characters; {longest} is the limit"
        raise errors.InvalidIdError(msg)
    if found := _CONTROL.search(value):
        msg = f"{what} holds a control character ({found.group()!r} at {found.start()}); ids are printable text"
        raise errors.InvalidIdError(msg)
    return value


def are_plain(values: Collection[object]) -> TypeGuard[tuple[str, ...]]:
    """Tell quickly whether all are usable ids, and of no class but `str`; `check` tells what is wrong."""
    texts = [value for value in values if type(value) is str and 0 < len(value) <= LONGEST]
    return len(texts) == len(values) and not _CONTROL.search("".join(texts))


def printable(text: str) -> str:
    """Return a text without the characters that no id holds."""
    return _CONTROL.sub("", text)


def is_uuid(text: object) -> bool:
    """Whether a text is a UUID in its usual form, as reducers give it to messages without an id."""
    return isinstance(text, str) and len(text) == 36 and _UUID.fullmatch(text) is not None


def pack(text: str) -> bytes:
    """Return the key form of an id: a UUID's 16 bytes, or its text after a zero byte."""
    if is_uuid(text):
        return bytes.fromhex(text.replace("-", ""))
    packed = b"\0" + text.encode("utf-8")
    return packed if len(packed) != _UUID_BYTES else b"\0" + packed


def unpack(packed: bytes) -> str:
    """Undo `pack`."""
    if len(packed) == _UUID_BYTES:
        text = packed.hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
    return packed.lstrip(b"\0").decode("utf-8")
