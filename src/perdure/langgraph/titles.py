"""Titles: what a thread is called until somebody names it, the first words a person said in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from perdure.core import ids

__all__ = ["first_words"]

LONGEST = 80


def first_words(values: Mapping[str, Any]) -> str | None:
    """Return the beginning of the first human message in a state or its input."""
    given = values.get("__start__")
    for state in (given if isinstance(given, Mapping) else {}, values):
        messages = state.get("messages")
        for message in messages if isinstance(messages, list) else [messages]:
            text = _human(message)
            if text and (line := ids.printable(" ".join(text.split()))):
                return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    return None


def _human(message: object) -> str | None:
    role: object = None
    content: object = None
    if isinstance(message, BaseMessage):
        role, content = message.type, message.text
    elif isinstance(message, Mapping):
        role, content = message.get("role", message.get("type")), message.get("content")
    elif isinstance(message, tuple) and len(message) == 2:
        role, content = message
    elif isinstance(message, str):
        role, content = "human", message
    return str(content) if role in ("human", "user") and isinstance(content, str) else None
