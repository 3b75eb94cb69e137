"""Fences: stored data as text before a model, so that it can't close its fence, imitate one, or hide in it.

A fence is XML. What was stored stands in it escaped, with what can't be seen written as `perdure.core.text` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from perdure.core import text

__all__ = ["Entry", "escaped", "fence"]

# Beside what XML asks for: the characters that are read as its angle brackets or quotes when a text is normalized.
_ESCAPES: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"} | {char: f"&#x{ord(char):x};" for char in "＜＞﹤﹥≮≯＂"}
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored text, and what is known about it by name. The names are ours; text and facts are data."""

    tag: str
    text: str
    facts: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        facts = "".join([f' {name}="{_inline(fact)}"' for name, fact in self.facts.items()])
        return f"<{self.tag}{facts}>{escaped(self.text)}</{self.tag}>"


def fence(name: str, note: str, entries: Iterable[Entry]) -> str:
    """Return entries in a fence that opens with a note of ours on what they are."""
    return "\n".join([f"<{name}>", note, *map(str, entries), f"</{name}>"])


def escaped(stored: str) -> str:
    """Return a stored text, on its lines, as it may stand in a fence."""
    return text.block(stored).translate(_ESCAPES)


def _inline(stored: str) -> str:
    return text.inline(stored).translate(_ESCAPES)
