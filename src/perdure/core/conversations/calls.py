"""Calls: the role of a message, the tool calls it makes, and the call it answers."""

from __future__ import annotations

from collections.abc import Sequence
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
_ROLES: dict[type[BaseMessage], Role] = {}
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
    known = _ROLES.get(type(message))
    if known is not None:
        return known
    if isinstance(message, ChatMessage):
        return _NAMED.get(message.role.lower(), "human")
    kind = type(message)
    _ROLES[kind] = next((found for classes, found in _CLASSES if issubclass(kind, classes)), "none")
    return _ROLES[kind]


def calls(message: BaseMessage) -> Sequence[Call]:
    """Return the calls that a message makes. An invalid one is sent to the model too, so it needs a result as well."""
    if not isinstance(message, AIMessage):
        return ()
    function = message.additional_kwargs.get("function_call")
    if not message.tool_calls and not message.invalid_tool_calls and not function:
        return ()
    found = [Call(call.get("id"), call["name"]) for call in message.tool_calls]
    found += [
        Call(wrong.get("id"), wrong.get("name") or "unknown", wrong.get("error") or "unreadable arguments")
        for wrong in message.invalid_tool_calls
    ]
    if isinstance(function, dict) and not message.tool_calls:
        found.append(Call(f"{_FUNCTION}{function.get('name')}", str(function.get("name"))))
    return found


def answered(message: BaseMessage) -> str | None:
    """Return the id of the call that a message answers."""
    if isinstance(message, ToolMessage):
        return message.tool_call_id
    return f"{_FUNCTION}{message.name}" if isinstance(message, FunctionMessage) else None
