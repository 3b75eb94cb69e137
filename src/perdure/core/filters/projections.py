"""Projections: the JSON form of an item that filters look at. Equal values have equal projections."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from perdure.core.codec import Codec

__all__ = ["ABOUT", "Json", "escape", "project", "rank", "read", "text", "write", "written"]

Json = Any
ABOUT: Final = "$about"
"""The key, at the top, of what is known about an item; no key of a value is projected to it."""

_UNCLEAN: Final = re.compile("[\x00\ud800-\udfff]")
_LONGEST_INT: Final = 2**63
_PLAIN: Final = (bool, type(None))
_NUMBERS: Final = (int, float, numbers.Number)  # the last is slow to ask


def project(value: object, codec: Codec) -> Json:
    """Return the JSON form of a value that the codec can keep.

    What JSON has no word for is an object with one field whose name begins with ``$``; a value's own fields that
    begin so are escaped. Equal values have equal projections.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {escape(key): project(part, codec) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [project(part, codec) for part in value]
    return _leaf(value, codec)


def _leaf(value: object, codec: Codec) -> Json:
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, _NUMBERS):
        return _number(value, codec)
    if isinstance(value, dt.date | dt.time):
        return _time(value, codec)
    return _opaque(value, codec)


def write(value: dict[str, Any], codec: Codec, about: Mapping[str, Any] | None = None) -> str:
    """Return the projection of an item as text, without NUL or lone surrogates.

    `about`: what is known about it, which only the fields that begin with ``@`` look at.
    """
    found = project(value, codec)
    if about:
        found = {ABOUT: project(dict(about), codec), **found}
    return written(found)


def written(projection: Json) -> str:
    """Return the text of a projection, or of a part of one. Equal parts that are no numbers are written alike."""
    return json.dumps(projection, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read(given: str) -> dict[str, Json]:
    """Return a projection from its text."""
    found: dict[str, Json] = json.loads(given)
    return found


def escape(name: str) -> str:
    """Return the key of a projection for a key of a value."""
    name = str.__str__(name)
    if name.startswith("$") or _UNCLEAN.search(name):
        return f"$key:{name.encode('utf-8', 'surrogatepass').hex()}"
    return name


def _text(value: str) -> Json:
    return {"$text": value.encode("utf-8", "surrogatepass").hex()} if _UNCLEAN.search(value) else value


def _number(value: Any, codec: Codec) -> Json:
    if isinstance(value, numbers.Integral):
        found = int(value)
        return found if abs(found) < _LONGEST_INT else {"$int": hex(found)}
    if not isinstance(value, numbers.Real | decimal.Decimal):
        return _opaque(value, codec)
    try:
        real = float(value)
    except (OverflowError, ValueError):  # a fraction beyond the floats, a signalling NaN
        return _opaque(value, codec)
    return real if abs(real) < float("inf") else {"$float": repr(real)}


def _time(value: dt.date | dt.time, codec: Codec) -> Json:
    if isinstance(value, dt.time):
        return {"$time": value.isoformat("microseconds")} if value.tzinfo is None else _opaque(value, codec)
    if not isinstance(value, dt.datetime):
        return {"$date": value.isoformat()}
    if value.utcoffset() is None:
        return {"$datetime": value.replace(tzinfo=None).isoformat(timespec="microseconds")}
    try:
        return {"$moment": value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="microseconds")}
    except OverflowError:  # the first and last day of the calendar, in a far zone
        return _opaque(value, codec)


def _opaque(value: object, codec: Codec) -> Json:
    return {"$value": codec.digest(codec.pack(value)).hex()}


# What has an order


def rank(value: Json) -> tuple[str, Any] | None:
    """Return the kind and sort key of what has an order; only what is of one kind is compared."""
    if isinstance(value, int | float):
        return None if isinstance(value, bool) else ("number", value)
    if isinstance(value, str):
        return "text", value
    if isinstance(value, dict) and len(value) == 1:
        ((tag, body),) = value.items()
        return _RANKS[tag](body) if tag in _RANKS else None
    return None


def text(value: Json) -> str | None:
    """Return the text that a projection stands for, if it is one."""
    found = rank(value)
    return found[1] if found is not None and found[0] == "text" else None


_RANKS: Final[dict[str, Callable[[str], tuple[str, Any] | None]]] = {
    "$int": lambda body: ("number", int(body, 16)),
    "$float": lambda body: None if body == "nan" else ("number", float(body)),
    "$text": lambda body: ("text", bytes.fromhex(body).decode("utf-8", "surrogatepass")),
    "$moment": lambda body: ("moment", body),
    "$datetime": lambda body: ("datetime", body),
    "$date": lambda body: ("date", body),
    "$time": lambda body: ("time", body),
}
