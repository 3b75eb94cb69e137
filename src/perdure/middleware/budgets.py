"""Budgets: how much of a conversation a request shows the model."""

from __future__ import annotations

import logging
from typing import Any, cast

from langchain_core.messages import AnyMessage

from perdure import errors
from perdure.core import conversations
from perdure.core.conversations import Budget, Counter, Fitted, Keep, Oversize
from perdure.middleware import checks, requests, sizes
from perdure.middleware.requests import Request
from perdure.middleware.shaping import Shaping

__all__ = ["ContextBudget"]

_log = logging.getLogger(__name__)


class ContextBudget(Shaping):
    """Shows the model what fits: whole turns from the end, for this request only.

    `max_tokens` counts everything a request takes: system prompt, tools, memories, summary, messages; None: as many
    as the model's profile says it takes, any number if it has none. `max_turns`: at most so many human turns. `keep`
    is ``"last"``, or a function that is given all groups, oldest first, and returns those to keep. The last human
    message and the group the model goes on from always stay; `oversize="cut"` shortens that message if it is too
    long alone. `token_counter` is one of LangChain's, `approximate` unless another is given.

    What a request leaves out is told in the run's custom stream, and a request that is still too large is logged. A
    conversation that providers would refuse is repaired in the request, with limits or without. Goes after (further
    in than) what adds to a request: `Recall`, `Profile`, `Compaction`.
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        *,
        max_turns: int | None = None,
        keep: Keep = "last",
        oversize: Oversize = "keep",
        token_counter: Counter = conversations.approximate,
    ) -> None:
        super().__init__()
        for name, given in (("max_tokens", max_tokens), ("max_turns", max_turns)):
            if given is not None:
                checks.whole("ContextBudget", name, given)
        checks.counter("ContextBudget", token_counter)
        try:
            self._limits = Budget(max_tokens, max_turns, keep, oversize)
        except errors.InvalidInputError as error:
            raise errors.ConfigurationError(f"ContextBudget: {error}") from None
        self._count = token_counter
        self._tools = requests.Tools()

    def shaped(self, request: Request) -> Request:
        """Return the request with the part of its messages that fits."""
        limits = self._limits
        tokens = limits.tokens or sizes.limit_of(request.model)
        fixed = requests.fixed(request, self._count, self._tools)
        budget = Budget(tokens, limits.turns, limits.keep, limits.oversize, fixed)
        fitted = conversations.fit(request.messages, budget, count=self._count)
        facts = _facts(fitted, budget)
        if fitted.dropped or fitted.over or fitted.cut is not None:
            requests.told(request, "trimmed", **facts)
        if fitted.over:
            _log.warning(
                "a request takes about %d tokens of %s, and nothing more of it can be left out", fitted.tokens, tokens
            )
        return requests.noted(request, "budget", **facts).override(messages=cast("list[AnyMessage]", fitted.messages))


def _facts(fitted: Fitted, budget: Budget) -> dict[str, Any]:
    return {
        "max_tokens": budget.tokens,
        "tokens": fitted.tokens,
        "over": fitted.over,
        "dropped": len(fitted.dropped),
        "cut": None if fitted.cut is None else fitted.cut.id,
    }
