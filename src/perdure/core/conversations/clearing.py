"""Clearing: old, long tool results replaced by references through which they can be read again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from langchain_core.messages import BaseMessage, ToolMessage

from perdure import errors
from perdure.core.conversations import marks

__all__ = ["READ_TOOL", "check", "clear_tool_results", "references", "result_of", "text_of"]

READ_TOOL = "read_tool_result"
_REFERENCE = '[The result of {name}, {size:,} characters, is left out here. {tool}(reference="{named}") reads it.]'


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
    Raises InvalidInputError for what is no number from 0, and for one text as `exclude`.
    """
    check(keep, longer_than, exclude)
    return [reference for _, reference in references(messages, keep, longer_than, exclude)]


def check(keep: object, longer_than: object, exclude: object) -> None:
    """Refuse what says not what is to be cleared. Raises InvalidInputError."""
    for name, given in (("keep", keep), ("longer_than", longer_than)):
        if type(given) is not int or given < 0:
            raise errors.InvalidInputError(f"{name} is a whole number from 0, not {given!r}")
    if isinstance(exclude, str) or not isinstance(exclude, Collection):
        raise errors.InvalidInputError(f"exclude is a list of tool names, not {exclude!r}")


def references(
    messages: Sequence[BaseMessage], keep: int, longer_than: int, exclude: Collection[str]
) -> Iterator[tuple[int, ToolMessage]]:
    """Yield the references for old, long results, each with the index of the result that it stands for."""
    results = [(at, message) for at, message in enumerate(messages) if isinstance(message, ToolMessage)]
    old = results[: len(results) - keep]
    names = _names(messages) if any(message.name is None for _, message in old) else {}
    for at, message in old:
        name = message.name or names.get(message.tool_call_id)
        if _is_clearable(message, longer_than) and name not in exclude:
            yield at, _reference(message, name or "a tool")


def result_of(messages: Iterable[BaseMessage], reference: str) -> ToolMessage | None:
    """Return the result that a reference names: by its message's id or by its call's, the last of several."""
    results = [message for message in messages if isinstance(message, ToolMessage)]
    found = [message for message in results if message.id == reference]
    found = found or [message for message in results if message.tool_call_id == reference]
    return found[-1] if found else None


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
    """Return a reference by the message's own id: some providers number the calls of each turn from one again."""
    size = len(text_of(message))
    named = message.id or message.tool_call_id
    text = _REFERENCE.format(name=name, size=size, tool=READ_TOOL, named=named)
    return marks.marked(message, "cleared", update={"content": text, "artifact": None}, characters=size)
