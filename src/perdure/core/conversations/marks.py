"""Marks: what tells a message that Perdure put before the model from one that somebody said.

A message that comes from outside may bring a mark along. All marks but those of references, which states keep, hold a
number that only this process knows, and count only with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

__all__ = ["Kind", "kind_of", "mark_of", "marked", "said"]

Kind = Literal["memories", "profile", "summary", "start", "repaired", "cleared"]
"""Recalled items; fixed preferences; a summary; the stand-in for a first human message; the result that a call never
got; a reference in place of a tool's result."""

Message = TypeVar("Message", bound=BaseMessage)
_KEY: Final = "perdure"
_OURS: Final = {"by": secrets.token_hex(8)}


def said(text: str, kind: Kind, **facts: Any) -> HumanMessage:
    """Return a human message that nobody said, so that every provider takes what it holds as data."""
    return marked(HumanMessage(text), kind, **facts)


def marked(message: Message, kind: Kind, *, update: Mapping[str, Any] | None = None, **facts: Any) -> Message:
    """Return a copy of a message with a mark, and with other fields in `update`; `facts` are ids and sizes only."""
    mark = {_KEY: {"kind": kind, **({} if kind == "cleared" else _OURS), **facts}}
    return message.model_copy(update={**(update or {}), "response_metadata": {**message.response_metadata, **mark}})


def mark_of(message: BaseMessage) -> Mapping[str, Any]:
    """Return a message's mark; nothing if it has none."""
    found = message.response_metadata.get(_KEY) if message.response_metadata else None
    return found if isinstance(found, dict) else {}


def kind_of(message: BaseMessage) -> str | None:
    """Return what a message was put there as; None: somebody said it."""
    mark = mark_of(message)
    kind = mark.get("kind")
    ours = isinstance(message, ToolMessage) if kind == "cleared" else mark.get("by") == _OURS["by"]
    return kind if isinstance(kind, str) and ours else None
