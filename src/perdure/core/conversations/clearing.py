"""Clearing: old, long tool results replaced by references through which they can be read again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from langchain_core.messages import BaseMessage, ToolMessage

from perdure import errors
from perdure.core.conversations import marks

__all__ = ["READ_TOOL", "clear_tool_results", "text_of"]

READ_TOOL = "read_tool_result"
_REFERENCE = '[The result of {name}, {size:,} characters, is left out here. {tool}(reference="{call}") reads it.]'


def clear_tool_results(
    messages: Sequence[BaseMessage],
    *,
    keep: int = 3,
    longer_than: int = 1000,
    exclude: Collection[str] = (),
) -> list[ToolMessage]:
    """Return references, with the same ids, for all but the last `keep` tool results of more than so many characters.

    Results of the tools in `exclude` stay. Given as an update of the state, the references take the place of the
    results there; the tool `read_tool_result` still finds these in the thread's earlier checkpoints.
    Raises InvalidInputError for negative numbers.
    """
    if keep < 0 or longer_than < 0:
        raise errors.InvalidInputError("keep and longer_than can't be negative")
    results = [message for message in messages if isinstance(message, ToolMessage)]
    old = results[: len(results) - keep]
    names = _names(messages) if any(message.name is None for message in old) else {}
    return [
        _reference(message, message.name or names.get(message.tool_call_id, "a tool"))
        for message in old
        if _is_clearable(message, longer_than) and (message.name or names.get(message.tool_call_id)) not in exclude
    ]


def _is_clearable(message: ToolMessage, longer_than: int) -> bool:
    return marks.kind_of(message) is None and len(text_of(message)) > longer_than


def _names(messages: Iterable[BaseMessage]) -> dict[str | None, str]:
    """Return the names of called tools by call id."""
    return {call["id"]: call["name"] for message in messages for call in getattr(message, "tool_calls", ())}


def text_of(message: ToolMessage) -> str:
    """Return a result as text; blocks that are none as they are written in Python."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(_text_of(block) for block in message.content)


def _text_of(block: str | dict[str, object]) -> str:
    if isinstance(block, str):
        return block
    text = block.get("text")
    return text if isinstance(text, str) else str(block)


def _reference(message: ToolMessage, name: str) -> ToolMessage:
    size = len(text_of(message))
    text = _REFERENCE.format(name=name, size=size, tool=READ_TOOL, call=message.tool_call_id)
    return marks.marked(message, "cleared", update={"content": text, "artifact": None}, characters=size)
