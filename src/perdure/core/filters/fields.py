"""Fields: how a filter names a part of an item's value, or what is known about the item."""

from __future__ import annotations

import re
from typing import Final

from perdure import errors
from perdure.core.filters import projections

__all__ = ["ABOUT", "split"]

ABOUT: Final = {
    f"@{name}": (projections.ABOUT, *name.split("."))
    for name in (
        "kind",
        "source.thread",
        "source.checkpoint",
        "source.message",
        "source.speaker",
        "source.channel",
        "confidence",
        "importance",
        "valid_from",
        "valid_to",
        "superseded_by",
        "quarantined",
    )
}
_KEY: Final = r"(?:[^.\\]|\\[.\\@$])+"
_KEYS: Final = re.compile(_KEY)
_FIELD: Final = re.compile(rf"{_KEY}(?:\.{_KEY})*")
_BACKSLASH: Final = re.compile(r"\\(?![.\\@$])")
_ESCAPED: Final = re.compile(r"\\(.)")


def split(field: str, where: str) -> tuple[str, ...]:
    """Return the keys of projections that lead to a field. `where`: the place of the filter, for people."""
    if field in ABOUT:
        return ABOUT[field]
    if field.startswith("@"):
        raise errors.InvalidFilterError(
            f"{where} is not known about items; there are {', '.join(ABOUT)}. "
            r"For a key of the value that begins with an @, write a backslash before it: \@type"
        )
    if _FIELD.fullmatch(field):
        return tuple(projections.escape(_ESCAPED.sub(r"\1", key)) for key in _KEYS.findall(field))
    if _BACKSLASH.search(field.replace("\\\\", "")):
        raise errors.InvalidFilterError(
            rf"{where} has a backslash that escapes nothing; a key's own backslash is written twice: a\\b"
        )
    raise errors.InvalidFilterError(
        f"{where} names an empty key: a dot leads into an object. "
        r"For a dot that belongs to a key, write a backslash before it: a\.b"
    )
