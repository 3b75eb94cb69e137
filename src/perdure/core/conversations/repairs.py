"""Repairs: the valid conversation that a broken list of messages was meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, ToolMessage

from perdure.core.conversations import marks
from perdure.core.conversations.calls import Call, answered, calls, role
from perdure.core.conversations.rules import validate

__all__ = ["START", "repair"]

_ID_FIELDS = {"tool_use": "id", "tool_call": "id", "function_call": "call_id"}
START = "(The conversation begins with what the assistant said.)"
_LOST = "The call of {name!r} was interrupted: it has no result. Call it again if it is still needed."
_UNREADABLE = "The call of {name!r} was not run: {why}"


@dataclass(slots=True)
class _Made:
    """An AI message with the results of its calls, while they are being found."""

    message: BaseMessage
    wanted: list[tuple[str | None, Call]] = field(default_factory=list)  # (the id it was called by, the call)
    results: list[BaseMessage] = field(default_factory=list)


def repair(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return a list that `validate` finds no problem in; a valid list comes back with the same messages.

    A result moves directly behind its call. A call without one gets an error as its result. A result that answers
    nothing, and what is no message, goes. System messages move to the start. Before an AI message that would be
    first comes a human one that says so. No message is changed; those that have to differ are copies.
    """
    given = list(messages)
    if not validate(given):
        return given
    systems: list[BaseMessage] = []
    made: list[_Made] = []
    for message in given:
        kind = role(message)
        if kind == "system":
            systems.append(message)
        elif kind == "tool":
            _answer(made, message)
        elif kind != "none":
            made.append(_with_ids(message, len(made)))
    rest = [message for one in made for message in _finished(one)]
    start = [marks.said(START, "start")] if rest and role(rest[0]) != "human" else []
    return [*systems, *start, *rest]


def _with_ids(message: BaseMessage, at: int) -> _Made:
    """Give each call of a message an id of its own."""
    found = _Made(message)
    taken: set[str] = set()
    for number, call in enumerate(calls(message)):
        named = call.id
        if not named or named in taken:
            named = f"{call.id or message.id or f'call-{at}'}-{number}"
        taken.add(named)
        found.wanted.append((call.id, Call(named, call.name, call.invalid)))
    if isinstance(message, AIMessage) and any(old != call.id for old, call in found.wanted):
        found.message = _renamed(message, [call.id for _, call in found.wanted])
    return found


def _renamed(message: AIMessage, names: list[str | None]) -> AIMessage:
    valid = len(message.tool_calls)
    called = [{**call, "id": name} for call, name in zip(message.tool_calls, names, strict=False)]
    wrong = [{**call, "id": name} for call, name in zip(message.invalid_tool_calls, names[valid:], strict=False)]
    old = [call.get("id") for call in (*message.tool_calls, *message.invalid_tool_calls)]
    content = _renamed_blocks(message.content, [*zip(old, names, strict=False)])
    return message.model_copy(update={"tool_calls": called, "invalid_tool_calls": wrong, "content": content})


def _renamed_blocks(content: str | list[Any], names: list[tuple[str | None, str | None]]) -> str | list[Any]:
    """Give the calls among content blocks, as Anthropic's and OpenAI's answers have them, the same new ids."""
    if isinstance(content, str):
        return content
    blocks = [*content]
    for at, block in enumerate(content):
        field = _ID_FIELDS.get(str(block.get("type"))) if isinstance(block, dict) else None
        pair = next((one for one in names if field is not None and one[0] == block.get(field)), None)
        if field is not None and pair is not None:
            names.remove(pair)
            blocks[at] = {**block, field: pair[1]}
    return blocks


def _answer(made: list[_Made], result: BaseMessage) -> None:
    """Put a result to the latest call it can answer; leave it out if there is none."""
    named = answered(result)
    for one in reversed(made):
        for at, (old, call) in enumerate(one.wanted):
            if old is not None and old == named:
                del one.wanted[at]
                one.results.append(_to(result, call.id))
                return


def _to(result: BaseMessage, call: str | None) -> BaseMessage:
    renamed = isinstance(result, ToolMessage) and result.tool_call_id != call
    return result.model_copy(update={"tool_call_id": call}) if renamed else result


def _finished(one: _Made) -> list[BaseMessage]:
    return [one.message, *one.results, *(_error(call) for _, call in one.wanted)]


def _error(call: Call) -> BaseMessage:
    why = _UNREADABLE if call.invalid else _LOST
    text = why.format(name=call.name, why=call.invalid)
    fields: dict[str, Any] = {"content": text, "name": call.name}
    if str(call.id).startswith("function:"):
        return marks.marked(FunctionMessage(**fields), "repaired")
    return marks.marked(ToolMessage(**fields, tool_call_id=str(call.id), status="error"), "repaired")
