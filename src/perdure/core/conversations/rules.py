"""Rules: what a list of messages must be for every provider to take it.

System messages come first. After them a human message begins. An AI message and the results of all its calls are one
group: nothing comes between them, each call has an id of its own and exactly one result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import BaseMessage

from perdure.core.conversations.calls import Call, answered, calls, role

__all__ = ["Problem", "Rule", "validate"]

Rule = Literal["start", "system", "missing", "orphan", "id", "repeated", "foreign"]
_SAID: dict[Rule, str] = {
    "start": "a conversation starts with a human message, after system messages",
    "system": "a system message comes after others; it belongs to the start",
    "missing": "a tool call has no result directly after it",
    "orphan": "a tool result answers no call directly before it",
    "id": "a tool call has no id",
    "repeated": "two calls of one message have the same id",
    "foreign": "this is no message of a conversation",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that a list breaks, and the index of the message that breaks it."""

    rule: Rule
    at: int
    message_id: str | None = None
    call: str | None = None

    def __str__(self) -> str:
        named = f" (call {self.call!r})" if self.call else ""
        return f"message {self.at}{named}: {_SAID[self.rule]}"


def validate(messages: Iterable[BaseMessage], *, unfinished: bool = False) -> list[Problem]:
    """Return the problems of a list of messages; nothing: every provider takes it.

    `unfinished` allows calls without a result at the end, as the state of an interrupted run has them.
    """
    found: list[Problem] = []
    open_calls: dict[str, int] = {}  # ids without a result so far, and where they are called
    started = False
    given = [*messages]
    for at, message in enumerate(given):
        kind = role(message)
        answers = answered(message) if kind == "tool" else None
        if answers is not None and open_calls.pop(answers, None) is not None:
            continue
        if open_calls:
            found += _missing(given, open_calls)
            open_calls = {}
        if wrong := _misplaced(kind, started=started):
            found.append(Problem(wrong, at, message.id, answers))
        if kind == "ai" and (made := calls(message)):
            found += _misnamed(at, message, made)
            open_calls = {call.id: at for call in made if call.id}
        started = started or kind in {"human", "ai"}
    return found if unfinished else [*found, *_missing(given, open_calls)]


def _missing(messages: Sequence[BaseMessage], open_calls: Mapping[str, int]) -> Iterator[Problem]:
    return (Problem("missing", at, messages[at].id, call) for call, at in open_calls.items())


def _misplaced(kind: str, *, started: bool) -> Rule | None:
    if kind == "none":
        return "foreign"
    if kind == "tool":
        return "orphan"
    if kind == "system":
        return "system" if started else None
    return "start" if kind == "ai" and not started else None


def _misnamed(at: int, message: BaseMessage, made: Iterable[Call]) -> Iterator[Problem]:
    seen: set[str] = set()
    for call in made:
        if not call.id:
            yield Problem("id", at, message.id)
        elif call.id in seen:
            yield Problem("repeated", at, message.id, call.id)
        else:
            seen.add(call.id)
