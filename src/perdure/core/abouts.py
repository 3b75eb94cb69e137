"""What is known about an item: its kind, where it comes from, how sure it is, when it holds; apart from its value."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from perdure import errors
from perdure.core import ids
from perdure.model import About, Source

__all__ = ["CHANNELS", "KINDS", "NOTHING", "QUARANTINED", "SUPERSEDED", "check", "hides", "plain", "read", "write"]

KINDS: Final = ("semantic", "episodic", "procedural")
CHANNELS: Final = ("user", "tool", "web", "model")
NOTHING: Final = About()
SUPERSEDED: Final = 1
QUARANTINED: Final = 2
_LONGEST: Final = 1024
_FIELDS: Final = tuple(field.name for field in fields(About))
_PARTS: Final = tuple(field.name for field in fields(Source))


def check(given: Mapping[str, object]) -> About:
    """Return what keywords say about an item. Raises InvalidInputError that names the one that is wrong."""
    for name in given:
        if name not in _FIELDS:
            raise errors.InvalidInputError(f"{name!r} is nothing that is known about an item; {', '.join(_FIELDS)} are")
    said: dict[str, Any] = {name: _CHECKS[name](name, value) for name, value in given.items() if value is not None}
    found = About(**said)
    if found.valid_from is not None and found.valid_to is not None and found.valid_to < found.valid_from:
        raise errors.InvalidInputError("valid_to is before valid_from; swap them")
    return found


def _kind(name: str, value: object) -> str:
    return _one_of(name, value, KINDS)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise errors.InvalidInputError(f"{name} is one of {', '.join(allowed)}, not {value!r}")
    return str(value)


def _source(name: str, value: object) -> Source:
    given = value if isinstance(value, Mapping) else _said(value, _PARTS) if isinstance(value, Source) else None
    if given is None or not set(given) <= set(_PARTS):
        raise errors.InvalidInputError(f"{name} is a perdure.Source or a dict of {', '.join(_PARTS)}, not {value!r}")
    return Source(**{part: _part(f"{name}.{part}", text) for part, text in given.items() if text is not None})


def _part(name: str, value: object) -> str:
    if name.endswith(".channel"):
        return _one_of(name, value, CHANNELS)
    return ids.check(value, name, longest=_LONGEST)


def _share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 or math.isnan(value):
        raise errors.InvalidInputError(f"{name} is a number from 0 to 1, not {value!r}")
    return float(value)


def _moment(name: str, value: object) -> dt.datetime:
    if not isinstance(value, dt.datetime) or value.utcoffset() is None:
        raise errors.InvalidInputError(f"{name} is a datetime with a time zone, not {value!r}")
    try:
        return value.astimezone(dt.UTC)
    except OverflowError:
        raise errors.InvalidInputError(f"{name} is a datetime that exists in UTC too, not {value!r}") from None


def _key(name: str, value: object) -> str:
    return ids.check(value, name, longest=_LONGEST)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise errors.InvalidInputError(f"{name} is True or False, not {value!r}")
    return value


_CHECKS: Final[dict[str, Any]] = {
    "kind": _kind,
    "source": _source,
    "confidence": _share,
    "importance": _share,
    "valid_from": _moment,
    "valid_to": _moment,
    "superseded_by": _key,
    "quarantined": _flag,
}


def hides(about: About) -> int:
    """Return why an item isn't found by who doesn't ask for it: a sum of SUPERSEDED and QUARANTINED."""
    return SUPERSEDED * (about.superseded_by is not None) + QUARANTINED * about.quarantined


def plain(about: About) -> dict[str, Any]:
    """Return what is known as a dict; what is not known is left out."""
    found = _said(about, _FIELDS)
    if about.source is not None:
        found["source"] = _said(about.source, _PARTS)
    if not about.quarantined:
        found.pop("quarantined", None)
    return found


def _said(given: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(given, name)) is not None}


def write(about: About) -> str | None:
    """Return what is known as JSON; None: nothing."""
    found = plain(about)
    return (
        json.dumps(found, ensure_ascii=False, separators=(",", ":"), default=dt.datetime.isoformat) if found else None
    )


def read(text: str | None) -> About:
    """Undo `write`."""
    if text is None:
        return NOTHING
    found: dict[str, Any] = json.loads(text)
    if "source" in found:
        found["source"] = Source(**found["source"])
    for name in ("valid_from", "valid_to"):
        if name in found:
            found[name] = dt.datetime.fromisoformat(found[name])
    return About(**found)
