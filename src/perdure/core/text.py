"""Safe text: what was stored, shown so that it can neither hide nor act in a terminal or before a model."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["block", "inline", "json_safe"]

_UNSEEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Invisible, though of other categories: joiners, fillers, variation selectors (but the one of emoji), all of plane 14,
# what Unicode keeps for more of them; and the two that no XML holds.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0e\uffa0\ufff0-\ufff8\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)


def inline(text: str) -> str:
    """Return text on one line, with every control, zero-width, bidirectional and tag character escaped."""
    return "".join([_escaped(char) if _is_unseen(char) else char for char in text])


def block(text: str) -> str:
    """Do what `inline` does, and keep line ends and tabs."""
    return "".join([_escaped(char) if char not in "\n\t" and _is_unseen(char) else char for char in text])


def json_safe(text: str) -> str:
    r"""Return a JSON document in which such characters are written as ``\uXXXX``; it means the same."""
    return "".join([_json_escape(char) if char != "\n" and _is_unseen(char) else char for char in text])


def _is_unseen(char: str) -> bool:
    if " " <= char <= "~":
        return False
    return unicodedata.category(char) in _UNSEEN_CATEGORIES or _UNSEEN.match(char) is not None


def _escaped(char: str) -> str:
    return {"\n": r"\n", "\t": r"\t", "\r": r"\r"}.get(char) or _code(char)


def _code(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join([f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)])
