"""Moments and spans of time, as callers give them: checked, and in microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from perdure import errors

__all__ = ["instant", "micros"]

LONGEST_TTL: Final = 2**31
"""Minutes."""
_MINUTE: Final = 60_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(given: object, name: str) -> int:
    """Return a datetime in microseconds since 1970. Raises InvalidInputError if it has no time zone."""
    if not isinstance(given, datetime) or given.utcoffset() is None:
        raise errors.InvalidInputError(f"{name} is a datetime with a time zone, not {given!r}")
    return (given - _EPOCH) // timedelta(microseconds=1)


def micros(minutes: object) -> int | None:
    """Return a TTL in microseconds. Raises InvalidInputError."""
    if minutes is None:
        return None
    known = isinstance(minutes, int | float) and not isinstance(minutes, bool)
    if known and 0 < minutes <= LONGEST_TTL:  # type: ignore[operator]
        return max(1, round(minutes * _MINUTE))  # type: ignore[operator]
    raise errors.InvalidInputError(f"ttl is a number of minutes above 0, up to {LONGEST_TTL}, or None; not {minutes!r}")
