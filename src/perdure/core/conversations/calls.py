"""Calls: the role of a message, the tool calls it makes, and the call it answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

__all__ = ["Call", "Role", "answered", "calls", "role"]

Role = Literal["system", "human", "ai", "tool", "none"]
_CLASSES: tuple[tuple[type[BaseMessage] | tuple[type[BaseMessage], ...], Role], ...] = (
    (HumanMessage, "human"),
    (AIMessage, "ai"),
    ((ToolMessage, FunctionMessage), "tool"),
    (SystemMessage, "system"),
)
_NAMED: dict[str, Role] = {
    "user": "human",
    "human": "human",
    "assistant": "ai",
    "ai": "ai",
    "system": "system",
    "developer": "system",
}
_FUNCTION = "function:"  # how the one call of the old function-calling interface, which has no id, is named here


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an AI message. `invalid` says why its arguments could not be read."""

    id: str | None
    name: str
    invalid: str | None = None


def role(message: BaseMessage) -> Role:
    """Return what a message counts as; `none`: it has no place in a conversation, as `RemoveMessage`."""
    for classes, found in _CLASSES:
        if isinstance(message, classes):
            return found
    return _NAMED.get(message.role.lower(), "human") if isinstance(message, ChatMessage) else "none"


def calls(message: BaseMessage) -> Iterator[Call]:
    """Yield the calls that a message makes. An invalid one is sent to the model too, so it needs a result as well."""
    if not isinstance(message, AIMessage):
        return
    for call in message.tool_calls:
        yield Call(call.get("id"), call["name"])
    for wrong in message.invalid_tool_calls:
        yield Call(wrong.get("id"), wrong.get("name") or "unknown", wrong.get("error") or "unreadable arguments")
    function = message.additional_kwargs.get("function_call")
    if isinstance(function, dict) and not message.tool_calls:
        yield Call(f"{_FUNCTION}{function.get('name')}", str(function.get("name")))


def answered(message: BaseMessage) -> str | None:
    """Return the id of the call that a message answers."""
    if isinstance(message, ToolMessage):
        return message.tool_call_id
    return f"{_FUNCTION}{message.name}" if isinstance(message, FunctionMessage) else None
