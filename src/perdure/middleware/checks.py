"""Checks: wrong arguments of a part, refused when it is made and not in the middle of a conversation."""

from __future__ import annotations

import math

from perdure import errors

__all__ = ["counter", "positive", "whole"]


def whole(part: str, name: str, given: object, *, most: int | None = None) -> None:
    """Refuse what is no whole number from 1. Raises ConfigurationError."""
    if type(given) is not int or given < 1 or (most is not None and given > most):
        upto = f" to {most}" if most else ""
        raise errors.ConfigurationError(f"{part}: {name} is a whole number from 1{upto}, not {given!r}")


def positive(part: str, name: str, given: object) -> None:
    """Refuse what is no number above 0. Raises ConfigurationError."""
    if type(given) not in {int, float} or not 0 < float(str(given)) < math.inf:
        raise errors.ConfigurationError(f"{part}: {name} is a number above 0, not {given!r}")


def counter(part: str, given: object) -> None:
    """Refuse what can't count tokens. Raises ConfigurationError."""
    if not callable(given):
        raise errors.ConfigurationError(f"{part}: token_counter is a function from messages to a number, not {given!r}")
