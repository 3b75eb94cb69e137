"""Recall: what is known about the question at hand, put before the model in front of it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from langchain.agents.middleware import ModelResponse
from langchain_core.messages import BaseMessage
from langgraph.store.base import BaseStore, Item, SearchItem

from perdure import errors
from perdure.core.conversations import Counter, approximate, marks
from perdure.core.conversations.calls import role
from perdure.engine import drive
from perdure.langgraph import showing
from perdure.langgraph.contexts import Labels, Namespace
from perdure.langgraph.reaching import Awaited, Direct, Reach
from perdure.langgraph.store import Store
from perdure.middleware import checks, requests
from perdure.middleware.requests import Request
from perdure.middleware.stored import UNREACHABLE, Stored

__all__ = ["Recall"]

_MORE: Final = 5
"""Items beyond the limit that are asked for, to know what was just below the floor."""
_LONGEST_QUERY: Final = 10_000
_MODES: Final = (None, "hybrid", "vector", "text")


@dataclass(eq=False)
class Recall(Stored):
    """Middleware that searches for what the last human message is about, and shows it to the model before that message.

    `namespace` is a prefix: see `perdure.langgraph.contexts.Namespace`. What scores less than `min_score` is not shown,
    nor what has no room in `max_tokens`. The state is not changed.
    """

    namespace: Namespace = ("memories", "{user_id}")
    _: KW_ONLY
    limit: int = 5
    min_score: float | None = None
    max_tokens: int = 1000
    filter: Mapping[str, Any] | None = None
    mode: str | None = None
    token_counter: Counter = approximate

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("Recall", "limit", self.limit, most=100)
        checks.whole("Recall", "max_tokens", self.max_tokens)
        checks.counter("Recall", self.token_counter)
        if self.mode not in _MODES:
            raise errors.ConfigurationError(f"Recall: mode is 'hybrid', 'vector' or 'text', not {self.mode!r}")
        floor = self.min_score
        if floor is not None and (isinstance(floor, bool | str) or not -1 <= floor <= 1):
            raise errors.ConfigurationError(f"Recall: min_score is a number from -1 to 1, not {floor!r}")
        if self.filter is not None and not isinstance(self.filter, Mapping):
            raise errors.ConfigurationError(
                f"Recall: filter is a dict, such as {{'topic': 'food'}}, not {type(self.filter).__name__}"
            )
        if not callable(self.token_counter):
            raise errors.ConfigurationError(
                f"Recall: token_counter is a function from messages to a number, not {self.token_counter!r}"
            )

    def wrap_model_call(self, request: Request, handler: Callable[[Request], ModelResponse[Any]]) -> ModelResponse[Any]:
        """Ask the model with what was recalled."""
        store = self._store(request)
        return handler(drive(self._recalled(request, store, Direct(store))))

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do what `wrap_model_call` does."""
        store = self._store(request)
        return await handler(await self._recalled(request, store, Awaited(store)))

    async def _recalled(self, request: Request, store: BaseStore, reach: Reach) -> Request:
        """Return the request with what its question is about, if something is known."""
        labels, at = self._labels(request), _asked(request.messages)
        question = str(request.messages[at].text)[:_LONGEST_QUERY] if at is not None else ""
        if at is None or not question.strip():
            return self._noted(request, labels)
        try:
            found = await reach.search(labels, query=question, **self._options(store))
        except UNREACHABLE as error:
            return self._noted(request, labels, failed=self._skipped(request, "recall_failed", error))
        good, below = self._divided(found)
        shown = showing.memories(good, labels, self.clock(), self._fits)
        request = self._noted(
            request,
            labels,
            shown=[_scored(item, labels) for item in shown.items],
            below=[_scored(item, labels) for item in below],
            no_room=[_named(item, labels) for item in shown.no_room],
        )
        if not shown.text:
            return request
        memories = marks.said(shown.text, "memories", items=len(shown.items))
        return requests.shown(request, [*request.messages[:at], memories, *request.messages[at:]])

    def _options(self, store: BaseStore) -> dict[str, Any]:
        options: dict[str, Any] = {"limit": self.limit + _MORE, "filter": self.filter and dict(self.filter)}
        if self.mode is not None:
            if not isinstance(store, Store):
                raise errors.ConfigurationError(
                    f"Recall: {type(store).__name__} knows no mode; leave mode= out, or use memory.store"
                )
            options["mode"] = self.mode
        return options

    def _divided(self, found: Sequence[SearchItem]) -> tuple[list[SearchItem], list[SearchItem]]:
        """Return the best items up to the limit, and those that score too little."""
        if self.min_score is None:
            return [*found[: self.limit]], []
        if any(item.score is None for item in found):
            raise errors.ConfigurationError(
                "Recall: this store gives no scores, so min_score= can't be met; give the store an index, or leave it "
                "out"
            )
        floor = self.min_score
        good = [item for item in found if (item.score or 0) >= floor]
        return good[: self.limit], [item for item in found if (item.score or 0) < floor]

    def _fits(self, text: str) -> bool:
        return self.token_counter([marks.said(text, "memories")]) <= self.max_tokens

    def _noted(self, request: Request, labels: Labels, **facts: Any) -> Request:
        nothing: dict[str, Any] = {"shown": [], "below": [], "no_room": []}
        return requests.noted(request, "recall", namespace=[*labels], **{**nothing, **facts})


def _asked(messages: Sequence[BaseMessage]) -> int | None:
    """Return where the last human message is that somebody said."""
    for at in range(len(messages) - 1, -1, -1):
        if role(messages[at]) == "human" and marks.kind_of(messages[at]) is None:
            return at
    return None


def _scored(item: Any, labels: Labels) -> list[Any]:
    score = item.score
    return [_named(item, labels), score if score is None or math.isfinite(score) else None]


def _named(item: Item, labels: Labels) -> str:
    """Return an item's key, after the labels by which its namespace is longer than the one that was searched."""
    return "/".join([*item.namespace[len(labels) :], item.key])
