"""Compaction: a summary in place of a conversation's beginning, while the conversation stays where it is."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelResponse
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain.agents.middleware.types import ModelCallResult, PrivateStateAttr
from langchain.chat_models import init_chat_model
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langgraph.types import Command

from perdure import errors
from perdure.core import conversations
from perdure.core.conversations import Counter, Group, marks, summaries
from perdure.core.conversations.groups import flat, grouped, parted
from perdure.core.conversations.summaries import Summary
from perdure.engine import drive
from perdure.middleware import checks, requests, sizes
from perdure.middleware.requests import Request
from perdure.middleware.summaries import PROMPT, Asking, Awaited, Called, NoSummaryError, Writer, named

__all__ = ["Compaction", "CompactionState"]

_log = logging.getLogger(__name__)
_CHANNEL = "compaction"
_REMEMBERED = 1000
"""Failures that a process remembers, so that a failing model is asked once a human turn and not at each step."""


class CompactionState(AgentState[Any]):
    """The agent's state, with the summary that stands for its beginning; None: there is none."""

    compaction: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be summarised: `groups`, the last of the state's first `messages`, in the human turn `turn`.

    `replaced`: tokens that they and the earlier summary take.
    """

    groups: list[Group]
    messages: list[BaseMessage]
    turn: tuple[str | None, str | None, str | None]
    replaced: int


class Compaction(AgentMiddleware[CompactionState, Any, Any]):
    """Shows the model a summary and the messages after it, once what it would see reaches `trigger`.

    Nothing is removed: the state keeps every message, and beside them, in its field ``compaction``, the summary with
    a mark of what it covers. ``update_state(config, {"compaction": None})`` shows the model everything again. The
    summary is extended from the one before it; a conversation larger than the model's window is read by parts.

    `trigger` and `keep` are LangChain's sizes, counted over what the model would see; `keep` may also be
    ``("turns", 3)``. No more than half of what triggers is kept, beside what can't be summarised, so that a
    summary is not due again at once.
    `window`: tokens that the summary's model takes, by default what its profile says, or 8,000. `longest`: tokens of a
    summary. `timeout`: seconds for one answer. A `prompt` of your own has the blanks ``{earlier}`` and ``{messages}``.

    A summary is used only if it is not empty and shorter than what it stands for. If the model fails, the run goes
    on as if nothing had been asked; the run's custom stream and the log say so, and the next human turn asks again.
    """

    state_schema = CompactionState
    transformers = (InternalCallTransformer,)

    def __init__(  # noqa: PLR0913 - the sizes of one thing
        self,
        model: str | BaseChatModel,
        *,
        trigger: sizes.Trigger,
        keep: sizes.Keep = ("messages", 20),
        window: int | None = None,
        longest: int = 1000,
        timeout: float = 120,
        prompt: str = PROMPT,
        token_counter: Counter = conversations.approximate,
    ) -> None:
        super().__init__()
        self.tools = ()
        self._trigger = sizes.clauses(trigger)
        sizes.check_keep(keep)
        self._keep = keep
        if not isinstance(prompt, str) or "{messages}" not in prompt or "{earlier}" not in prompt:
            raise errors.ConfigurationError("prompt is a text with the blanks {earlier} and {messages}")
        if window is not None:
            checks.whole("Compaction", "window", window)
        checks.whole("Compaction", "longest", longest)
        checks.positive("Compaction", "timeout", timeout)
        checks.counter("Compaction", token_counter)
        chat = init_chat_model(model) if isinstance(model, str) else model
        self._count = token_counter
        self._writer = Writer(chat, prompt, window or sizes.limit_of(chat) or 8000, longest, timeout, token_counter)
        self._tools = requests.Tools()
        self._failed: OrderedDict[tuple[str | None, str | None, str | None], None] = OrderedDict()

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        earlier = self._standing(request)
        made = drive(self._made(request, earlier, Called()))
        return _with_update(request, handler(_shaped(request, earlier, made)), made or earlier)

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelCallResult[Any]:
        earlier = self._standing(request)
        made = await self._made(request, earlier, Awaited())
        return _with_update(request, await handler(_shaped(request, earlier, made)), made or earlier)

    def _standing(self, request: Request) -> Summary | None:
        requests.refuse_behind(request, "Compaction", "ledger")
        value = _value(request)
        found = summaries.standing(value, requests.in_state(request))
        if value is not None and found is None:
            requests.told(request, "summary_set_aside", reason="messages it covers were removed or replaced")
        return found

    async def _made(self, request: Request, earlier: Summary | None, asking: Asking) -> Summary | None:
        """Return a new summary if one is due and could be made."""
        plan = self._plan(request, earlier)
        if plan is None or plan.turn in self._failed:
            return None
        try:
            text = await self._writer.write(asking, earlier.text if earlier else "", plan.groups)
            made = self._checked(plan, text)
        except Exception as error:  # noqa: BLE001 - a model may raise anything, and the run goes on without a summary
            self._gave_up(request, plan, error)
            return None
        requests.told(request, "summarised", messages=made.count, tokens=made.tokens, replaced=made.replaced_tokens)
        return made

    def _plan(self, request: Request, earlier: Summary | None) -> _Plan | None:
        messages = requests.in_state(request)
        shown = summaries.with_summary(request.messages, messages, earlier) if earlier else list(request.messages)
        clause = sizes.met(self._trigger, lambda kind: self._size(request, shown, kind))
        if clause is None:
            return None
        groups = [group for group in grouped(messages[earlier.count if earlier else 0 :]) if group.role != "system"]
        due = groups[: self._due(request, shown, groups, clause)]
        sure = {id(message) for message in messages[: requests.settled(messages)]}
        due = [*takewhile(lambda group: id(group.messages[0]) in sure, due)]
        if not due:
            return None
        last = due[-1].messages[-1]
        count = next(at for at, message in enumerate(messages, 1) if message is last)
        replaced = self._count(flat(due)) + (earlier.tokens if earlier else 0)
        return _Plan(due, messages[:count], _turn_of(messages), replaced)

    def _due(
        self, request: Request, shown: Sequence[BaseMessage], groups: Sequence[Group], clause: Mapping[str, float]
    ) -> int:
        """Return how many groups are to go: all but what `keep`, or half of the trigger, has room for."""
        inside = {message.id for message in flat(groups)}
        beside = [one for one in shown if one.id not in inside and marks.kind_of(one) != "summary"]
        halves = [(kind, (size - self._size(request, beside, kind)) / 2) for kind, size in clause.items()]
        rooms = [_room(request, *room) for room in (self._keep, *halves)]
        return parted(groups, len(groups) - min(sizes.kept(groups, room, self._count) for room in rooms))

    def _size(self, request: Request, shown: Sequence[BaseMessage], kind: str) -> float:
        if kind == "messages":
            return len(shown)
        tokens = self._count(shown) + requests.fixed(request, self._count, self._tools)
        return tokens if kind == "tokens" else tokens / _limit(request)

    def _checked(self, plan: _Plan, text: str) -> Summary:
        tokens = self._writer.tokens(text)
        if tokens >= plan.replaced:
            raise NoSummaryError(f"it takes {tokens} tokens, and what it would stand for {plan.replaced}")
        return Summary(
            text=text,
            **summaries.covering(plan.messages),
            sources=[str(message.id) for group in plan.groups for message in group.messages],
            tokens=tokens,
            replaced_tokens=plan.replaced,
            model=named(self._writer.model),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _gave_up(self, request: Request, plan: _Plan, error: Exception) -> None:
        reason = str(error) if isinstance(error, NoSummaryError) else type(error).__name__
        self._failed[plan.turn] = None
        while len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)
        _log.warning("no summary was made (%s); the run goes on with the conversation as it is", reason)
        requests.told(request, "summary_failed", reason=reason, messages=len(plan.messages))


def _shaped(request: Request, earlier: Summary | None, made: Summary | None) -> Request:
    """Return the request with the summary that was made, or the one that stood before, if there is one."""
    summary = made or earlier
    if summary is None:
        return requests.shown(request, request.messages)
    messages = requests.in_state(request)
    shown = summaries.with_summary(request.messages, messages, summary)
    facts = {"count": summary.count, "tokens": summary.tokens, "made": made is not None}
    return requests.shown(requests.noted(request, "compaction", **facts), shown)


def _room(request: Request, kind: str, size: float) -> tuple[str, float]:
    return ("tokens", size * _limit(request)) if kind == "fraction" else (kind, size)


def _turn_of(messages: Sequence[BaseMessage]) -> tuple[str | None, str | None, str | None]:
    """Return what names the human turn under way: its tenant, thread and message."""
    last = next((one for one in reversed(messages) if conversations.role(one) == "human"), None)
    return (*requests.thread_of(), last.id if last is not None and marks.kind_of(last) is None else None)


def _limit(request: Request) -> int:
    found = sizes.limit_of(request.model)
    if found is None:
        raise errors.ConfigurationError(
            "a fraction of what the model takes was asked for, and its profile doesn't say how much that is: "
            'use ("tokens", …) or give the model a profile={"max_input_tokens": …}'
        )
    return found


def _with_update(request: Request, response: ModelResponse[Any], kept: Summary | None) -> ModelCallResult[Any]:
    """Return the response with the state's new summary, if that is another than the state has."""
    value = None if kept is None else kept.plain()
    if value == _value(request):
        return response
    return ExtendedModelResponse(response, Command(update={_CHANNEL: value}))


def _value(request: Request) -> object:
    """Return what the state's field holds. Raises ConfigurationError if that is somebody else's."""
    value = cast("dict[str, Any]", request.state).get(_CHANNEL)
    if value is None or (isinstance(value, dict) and "digest" in value):
        return value
    raise errors.ConfigurationError(
        f"the state's field {_CHANNEL!r} holds a {type(value).__name__} that Compaction did not put there; it would be "
        "lost; give your own field another name"
    )
