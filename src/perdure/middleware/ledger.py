"""The context ledger: what each model call saw, in ids and sizes, kept with the thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelResponse
from langchain.agents.middleware.types import ModelCallResult, PrivateStateAttr
from langchain_core.messages import BaseMessage
from langgraph.config import get_config
from langgraph.types import Command

from perdure.core import conversations
from perdure.core.conversations import Counter, marks, summaries
from perdure.middleware import checks, requests
from perdure.middleware.requests import Request

__all__ = ["LONGEST", "Ledger", "LedgerState"]

LONGEST = 1000
"""Records that a thread's state keeps, the newest; earlier ones are in its earlier checkpoints."""


def _appended(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*old, *new][-LONGEST:]


class LedgerState(AgentState[Any]):
    """The agent's state, with a record of each model call."""

    context_ledger: NotRequired[Annotated[list[dict[str, Any]], PrivateStateAttr, _appended]]


class Ledger(AgentMiddleware[LedgerState, Any, Any]):
    """Records what each model call sees, for ``perdure why`` and `memory.why`. Goes last in ``middleware=[…]``.

    A record holds sizes, ids and scores, no content: how many tokens system prompt, tools, profile, summary, memories
    and turns take; which messages of the state were seen; which items were recalled, with which scores, and which
    were not shown. Records are part of the thread's state and go with it.
    """

    state_schema = LedgerState

    def __init__(self, *, token_counter: Counter = conversations.approximate) -> None:
        super().__init__()
        checks.counter("Ledger", token_counter)
        self.tools = ()
        self._count = token_counter
        self._tools = requests.Tools()

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        record = self._record(request)
        return _with_record(handler(requests.noted(request, "ledger")), record)

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelCallResult[Any]:
        record = self._record(request)
        return _with_record(await handler(requests.noted(request, "ledger")), record)

    def _record(self, request: Request) -> dict[str, Any]:
        messages = requests.in_state(request)
        seen, changed = _seen(messages, request.messages)
        return {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "step": get_config().get("metadata", {}).get("langgraph_step"),
            "tokens": self._tokens(request),
            "state": len(messages),
            "digest": summaries.digest(messages),
            "seen": seen,
            "changed": changed,
            "notes": requests.notes(request),
        }

    def _tokens(self, request: Request) -> dict[str, int]:
        parts: dict[str, list[BaseMessage]] = {"system": [], "profile": [], "summary": [], "memories": [], "turns": []}
        if request.system_message is not None:
            parts["system"].append(request.system_message)
        for message in request.messages:
            parts[_part_of(message)].append(message)
        sizes = {name: self._count(part) if part else 0 for name, part in parts.items()}
        sizes["tools"] = self._tools.count(request.tools)
        return {**sizes, "total": sum(sizes.values())}


def _part_of(message: BaseMessage) -> str:
    kind = marks.kind_of(message)
    if kind in {"profile", "summary", "memories"}:
        return str(kind)
    return "system" if conversations.role(message) == "system" else "turns"


def _seen(messages: Sequence[BaseMessage], shown: Sequence[BaseMessage]) -> tuple[list[list[int]], dict[str, str]]:
    """Return the messages of the state that are shown, as ranges of their indexes, and why some look different.

    The ranges include both ends. A changed message is ``cleared`` or, by another middleware or a budget, ``cut``.
    """
    by_id = {message.id: message for message in shown if message.id}
    ranges: list[list[int]] = []
    changed: dict[str, str] = {}
    for at, message in enumerate(messages):
        found = by_id.get(message.id) if message.id else None
        if found is None:
            continue
        if ranges and ranges[-1][1] == at - 1:
            ranges[-1][1] = at
        else:
            ranges.append([at, at])
        if found is not message and found.content != message.content:
            changed[str(message.id)] = "cleared" if marks.kind_of(found) == "cleared" else "cut"
    return ranges, changed


def _with_record(response: ModelResponse[Any], record: Mapping[str, Any]) -> ModelCallResult[Any]:
    return ExtendedModelResponse(response, Command(update={"context_ledger": [record]}))
