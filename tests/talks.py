"""Conversations drawn by chance, for tests: valid ones, broken ones, and how to write one down in a line."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

WORDS = ("tea", "coffee", "咖啡", "a long way to the harbour", "emoji 🎈", "x" * 40, "")


def human(text: str = "h", **more: Any) -> HumanMessage:
    return HumanMessage(text, **more)


def ai(*calls: str, text: str = "a", **more: Any) -> AIMessage:
    return AIMessage(text, tool_calls=[{"name": "look", "args": {"at": 1}, "id": call} for call in calls], **more)


def result(call: str, text: str = "r", **more: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call, name="look", **more)


def written(messages: Iterable[BaseMessage]) -> str:
    """Return a list in the cases' own words: ``H A[c1] T(c1) A``; an error result as ``T(c1!)``."""
    return " ".join(map(_written, messages))


def _written(message: BaseMessage) -> str:
    if isinstance(message, ToolMessage):
        return f"T({message.tool_call_id}{'!' if message.status == 'error' else ''})"
    letter = {"human": "H", "system": "S", "ai": "A"}.get(message.type, message.type)
    calls = [call["id"] for call in getattr(message, "tool_calls", ())]
    return letter + (f"[{','.join(map(str, calls))}]" if calls else "")


def numbered(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Give each message an id, as a state's reducer does."""
    for at, message in enumerate(messages):
        message.id = f"m{at}"
    return list(messages)


def drawn(rng: random.Random, *, turns: int = 6) -> list[BaseMessage]:
    """Return a valid conversation with parallel calls, results in any order, and words of several scripts."""
    messages: list[BaseMessage] = [SystemMessage(rng.choice(WORDS)) for _ in range(rng.choice((0, 0, 1, 2)))]
    number = 0
    for _ in range(rng.randint(0, turns)):
        messages.append(human(rng.choice(WORDS) * rng.choice((1, 1, 1, 60))))
        for _ in range(rng.randint(0, 4)):
            calls = [f"c{number + at}" for at in range(rng.choice((0, 1, 1, 2, 3)))]
            number += len(calls)
            messages.append(ai(*calls, text=rng.choice(WORDS)))
            messages += [
                result(call, rng.choice(WORDS) * rng.choice((1, 200))) for call in rng.sample(calls, len(calls))
            ]
    return numbered(messages)


def broken(rng: random.Random, *, turns: int = 6) -> list[BaseMessage]:
    """Return a conversation that anything may have happened to."""
    messages = drawn(rng, turns=turns)
    for _ in range(rng.randint(0, 6)):
        _break(rng, messages)
    return numbered(messages)


def _break(rng: random.Random, messages: list[BaseMessage]) -> None:
    at = rng.randint(0, len(messages))
    kind = rng.randint(0, 9)
    if kind <= 2 and messages:
        del messages[rng.randrange(len(messages))]
    elif kind == 3 and len(messages) > 1:
        one = messages.pop(rng.randrange(len(messages)))
        messages.insert(at, one)
    else:
        messages.insert(at, _foreign(rng, kind))


def _foreign(rng: random.Random, kind: int) -> BaseMessage:
    calls = [{"name": "look", "args": "{", "id": rng.choice((None, "i1", "i2")), "error": None}]
    twice = [{"name": "look", "args": {}, "id": rng.choice((None, "d1"))} for _ in range(2)]
    function = {"function_call": {"name": "old", "arguments": "{}"}}
    return {
        4: lambda: SystemMessage("late"),
        5: lambda: result(rng.choice(("c0", "c1", "i1", "d1", "nothing"))),
        6: lambda: AIMessage("", invalid_tool_calls=calls),
        7: lambda: AIMessage("", tool_calls=twice),
        8: lambda: ChatMessage(role=rng.choice(("user", "assistant", "system", "critic")), content="said"),
        9: lambda: rng.choice(
            (RemoveMessage(id="gone"), FunctionMessage("f", name="old"), AIMessage("", additional_kwargs=function))
        ),
    }.get(kind, lambda: human(""))()
