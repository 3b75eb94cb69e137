"""Requests: what the parts of this package do to a model's request, and what they tell each other about it.

A part hands its notes on in the request's state, which only middleware sees: those further in can read what those
further out have done, and the ledger records it. Notes hold ids and sizes, never content.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from langchain.agents.middleware import AgentState, ModelRequest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import BaseTool
from langgraph.config import get_config

from perdure import errors
from perdure.core import conversations
from perdure.core.conversations import Counter

__all__ = [
    "Note",
    "Request",
    "Tools",
    "fixed",
    "in_state",
    "noted",
    "notes",
    "refuse_behind",
    "settled",
    "shown",
    "thread_of",
    "told",
]

Request = ModelRequest[Any]
Note = dict[str, Any]
_NOTES = "perdure_notes"
_LAST = {"budget": "ContextBudget", "ledger": "Ledger"}


def noted(request: Request, part: str, **facts: Any) -> Request:
    """Return the request with a note of a part's for those further in."""
    state = {**request.state, _NOTES: [*notes(request), {"part": part, **facts}]}
    return request.override(state=cast("AgentState[Any]", state))


def notes(request: Request, part: str | None = None) -> list[Note]:
    """Return what the parts further out have noted; only those of one part, if it is named."""
    found = cast("dict[str, Any]", request.state).get(_NOTES) or []
    return [note for note in found if part in {None, note["part"]}]


def refuse_behind(request: Request, part: str, *names: str) -> None:
    """Raise ConfigurationError if a part that has to come after this one has seen the request already."""
    for name in names:
        if notes(request, name):
            raise errors.ConfigurationError(
                f"{part} comes after {_LAST[name]} in middleware=[…], which so misses what it does; put it before: "
                "[Profile(), Recall(), …, ContextBudget(), Ledger()]"
            )


def shown(request: Request, messages: Sequence[BaseMessage]) -> Request:
    """Return the request with other messages, repaired if they have to be; the state stays as it is."""
    return request.override(messages=cast("list[AnyMessage]", conversations.repair(messages)))


def in_state(request: Request) -> list[BaseMessage]:
    """Return the messages that the state holds, whatever other middleware has made of them."""
    return list(request.state["messages"])


def settled(messages: Sequence[BaseMessage]) -> int:
    """Return how many messages at the state's start keep their places when the model has answered.

    Behind a call with unreadable arguments that has no result LangChain puts one into the state, in this step.
    """
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    for at, message in enumerate(messages):
        wrong = message.invalid_tool_calls if isinstance(message, AIMessage) else ()
        if any(call.get("id") is not None and call["id"] not in answered for call in wrong):
            return at
    return len(messages)


def told(request: Request, event: str, **facts: Any) -> None:
    """Say in the run's custom stream what a part has done: ``{"perdure": event, …}``, with ids and sizes only."""
    write: Callable[[Any], None] | None = getattr(request.runtime, "stream_writer", None)
    if write is not None:
        write({"perdure": event, **facts})


def thread_of() -> tuple[str | None, str | None]:
    """Return the tenant and the id of the thread that is being run, as far as the run names them."""
    named = get_config().get("configurable", {})
    tenant, thread = (None if named.get(key) is None else str(named[key]) for key in ("tenant_id", "thread_id"))
    return tenant, thread


class Tools:
    """Counts what the tools of a request take, once for each set of tools."""

    def __init__(self) -> None:
        self._last: tuple[list[BaseTool | dict[str, Any]], int] = ([], 0)

    def count(self, tools: Sequence[BaseTool | dict[str, Any]]) -> int:
        """Return how many tokens the schemas of tools take, approximately."""
        known, tokens = self._last
        if len(known) != len(tools) or any(one is not other for one, other in zip(known, tools, strict=True)):
            tokens = count_tokens_approximately([], tools=[*tools])
            self._last = ([*tools], tokens)
        return tokens


def fixed(request: Request, count: Counter, tools: Tools) -> int:
    """Return how many tokens a request takes beside its messages: system prompt and tools."""
    system: list[SystemMessage] = [request.system_message] if request.system_message else []
    return (count(system) if system else 0) + tools.count(request.tools)
