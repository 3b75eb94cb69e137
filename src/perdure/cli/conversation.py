"""Conversations for people: roles, what was said, tool calls and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perdure.cli.values import compact, plain
from perdure.core import text
from perdure.model import Said

__all__ = ["is_conversation", "message_lines", "said", "summary", "transcript"]

_ROLE = 6


def is_conversation(value: Any) -> bool:
    """Tell whether a plain value is a list of messages."""
    return isinstance(value, list) and bool(value) and all(map(is_message, value))


def is_message(value: Any) -> bool:
    """Tell whether a plain value is a message."""
    return isinstance(value, dict) and isinstance(value.get("type"), str) and "content" in value


def transcript(messages: Sequence[Any], times: Mapping[str, str] | None = None, indent: str = "") -> list[str]:
    """Return the lines of a conversation; `times` says when the message of an id came."""
    lines: list[str] = []
    for message in messages:
        shown = plain(message)
        when = f"{(times or {}).get(shown.get('id') or '', ''):19}  " if times is not None else ""
        lines += _spoken(f"{indent}{when}", shown)
    return lines


def said(found: Said) -> list[str]:
    """Return the lines of a message of a transcript: when it first appeared, and whether it was removed since."""
    when = found.at.isoformat()[:19].replace("T", " ")
    return _spoken(f"{when}  {'' if found.present else 'removed':7}  ", plain(found.message))


def _spoken(head: str, shown: Any) -> list[str]:
    lines = message_lines(shown) if is_message(shown) else [compact(shown)]
    role = shown["type"] if is_message(shown) else "?"
    head = f"{head}{text.inline(role):{_ROLE}}  "
    return [f"{head}{lines[0]}", *[f"{' ' * len(head)}{line}" for line in lines[1:]]]


def message_lines(message: Mapping[str, Any]) -> list[str]:
    """Return what a message says, safe to show, in at least one line."""
    said = _content(message["content"])
    if message["type"] == "tool":
        said = f"{message.get('name') or 'a tool'} answered: {said}"
    lines = text.block(said).split("\n") if said else []
    lines += [text.inline(_call(call)) for call in message.get("tool_calls") or []]
    lines += [text.inline(f"invalid call of {call.get('name')}: {call.get('error')}") for call in _invalid(message)]
    return lines or ["(nothing)"]


def summary(message: Mapping[str, Any]) -> str:
    """Return a message on one line."""
    line = f"{message['type']}: " + " ".join(message_lines(message))
    return line if len(line) <= 160 else f"{line[:159]}…"


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, map(_block, blocks)))


def _block(block: Any) -> str:
    if isinstance(block, str):
        return block
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in {"text", "reasoning"} and isinstance(block.get(kind), str):
        return str(block[kind]) if kind == "text" else f"[reasoning] {block[kind]}"
    if kind in {"tool_use", "tool_call", "function_call"}:
        return ""  # among the message's tool calls
    return f"[{kind or 'content'}] {compact(block)}"


def _call(call: Mapping[str, Any]) -> str:
    args = call.get("args")
    shown = ", ".join(f"{k}={compact(v)}" for k, v in args.items()) if isinstance(args, dict) else compact(args)
    return f"calls {call.get('name')}({shown})"


def _invalid(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(message.get("invalid_tool_calls") or [])
