"""Cutting: a text shortened to what there is room for, which says how much is missing."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage

from perdure.core.conversations.counting import Counter

__all__ = ["shortened"]

LEAST = 16
"""A text that would have to be shorter than this, in characters, is left whole."""


def shortened(message: BaseMessage, room: int, count: Counter) -> BaseMessage:
    """Return a copy of a message with its middle left out, so that it takes at most `room` tokens.

    The message itself comes back if it fits, or if nothing readable would remain of it. Only text is cut: of content
    blocks the longest text.
    """
    text = _text(message)
    if count([message]) <= room or len(text) <= LEAST:
        return message
    low, high = 0, len(text)
    while low < high:  # the longest rest that fits
        middle = (low + high + 1) // 2
        if count([_with(message, _short(text, middle))]) <= room:
            low = middle
        else:
            high = middle - 1
    return message if low < LEAST else _with(message, _short(text, low))


def _short(text: str, kept: int) -> str:
    tail = kept // 4
    return f"{text[: kept - tail]}\n[… {len(text) - kept:,} characters left out …]\n{text[len(text) - tail :]}"


def _blocks(message: BaseMessage) -> list[tuple[int, str]]:
    """Return the texts among content blocks, by their index."""
    texts: list[tuple[int, str]] = []
    for at, block in enumerate(message.content):
        if isinstance(block, str):
            texts.append((at, block))
        elif block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append((at, block["text"]))
    return texts


def _longest(message: BaseMessage) -> tuple[int, str]:
    return max(_blocks(message), key=lambda found: len(found[1]), default=(-1, ""))


def _text(message: BaseMessage) -> str:
    return message.content if isinstance(message.content, str) else _longest(message)[1]


def _with(message: BaseMessage, text: str) -> BaseMessage:
    if isinstance(message.content, str):
        return message.model_copy(update={"content": text})
    at, _ = _longest(message)
    blocks: list[Any] = [*message.content]
    blocks[at] = text if isinstance(blocks[at], str) else {**blocks[at], "text": text}
    return message.model_copy(update={"content": blocks})
