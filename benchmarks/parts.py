"""What is measured of `perdure.middleware`: each part beside what LangChain has for the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelRequest,
    SummarizationMiddleware,
    dynamic_prompt,
    wrap_model_call,
)
from langchain_core.messages import BaseMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately

from benchmarks import talks
from perdure.middleware import ClearToolResults, Compaction, ContextBudget, Ledger, Profile, Recall

__all__ = ["ITEMS", "NONE", "PROFILE", "VARIANTS", "Variant"]

SMALL: Final = 4_000
LARGE: Final = 1_000_000
"""Tokens: two budgets, of which the whole conversation fits one."""
ITEMS: Final = ("memories", "ana")
PROFILE: Final = ("profiles", "ana")
_NEVER: Final = ("tokens", 100_000_000)
_KEEP: Final = ("messages", 100)

Made = Callable[[], Sequence[AgentMiddleware[Any, Any, Any]]]
Messages = list[BaseMessage]


@dataclass(frozen=True, slots=True)
class Variant:
    """An agent's middleware. `before`: what has run on the conversation first; `given`: what became of it before."""

    case: str
    made: Made = tuple
    store: Literal["words", "vectors"] = "words"
    before: Made | None = None
    given: Callable[[Messages], Messages] = list


def _model() -> talks.WatchedModel:
    return talks.WatchedModel()


def _trimmed(tokens: int) -> AgentMiddleware[Any, Any, Any]:
    """Return what LangChain's documentation shows: `trim_messages`, for this request only."""

    @wrap_model_call
    def trim(request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        messages: Any = trim_messages(
            request.messages,
            max_tokens=tokens,
            token_counter=count_tokens_approximately,
            strategy="last",
            start_on="human",
            end_on=("human", "tool"),
        )
        return handler(request.override(messages=messages))

    return trim


@dynamic_prompt
def _prompted(request: ModelRequest[Any]) -> str:
    store: Any = request.runtime.store
    found = store.search(ITEMS, query=str(request.messages[-1].text), limit=5)
    return "What is known about the user:\n" + "\n".join(str(item.value["text"]) for item in found)


def _cleared() -> AgentMiddleware[Any, Any, Any]:
    return ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=3)])


def _compaction(**given: Any) -> Compaction:
    return Compaction(_model(), **{"trigger": _NEVER, "keep": _KEEP, **given})


def _summarization(**given: Any) -> SummarizationMiddleware[Any, Any]:
    options: Mapping[str, Any] = {"trigger": _NEVER, "keep": _KEEP, **given}
    return SummarizationMiddleware(_model(), **options)


def _summarised() -> Sequence[AgentMiddleware[Any, Any, Any]]:
    return [_compaction(trigger=("messages", 150), window=10 * LARGE)]


def _stock_summarised() -> Sequence[AgentMiddleware[Any, Any, Any]]:
    return [_summarization(trigger=("messages", 150))]


def _all() -> Sequence[AgentMiddleware[Any, Any, Any]]:
    return [
        Profile(PROFILE),
        Recall(ITEMS),
        _compaction(),
        ClearToolResults(longer_than=200),
        ContextBudget(SMALL),
        Ledger(),
    ]


NONE: Final = "no middleware: the whole turn"
VARIANTS: Final = (
    Variant(NONE),
    Variant("ContextBudget(): repair only, nothing to do", lambda: [ContextBudget()]),
    Variant("ContextBudget(): repair only, a result is missing", lambda: [ContextBudget()], given=talks.lacking),
    Variant(f"ContextBudget({SMALL:,})", lambda: [ContextBudget(SMALL)]),
    Variant(f"LangChain: trim_messages, {SMALL:,} tokens", lambda: [_trimmed(SMALL)]),
    Variant(f"ContextBudget({LARGE:,})", lambda: [ContextBudget(LARGE)]),
    Variant(f"LangChain: trim_messages, {LARGE:,} tokens", lambda: [_trimmed(LARGE)]),
    Variant("ClearToolResults", lambda: [ClearToolResults(longer_than=200)]),
    Variant("LangChain: ContextEditingMiddleware, ClearToolUsesEdit", lambda: [_cleared()]),
    Variant("Compaction, nothing is due", lambda: [_compaction()]),
    Variant("LangChain: SummarizationMiddleware, nothing is due", lambda: [_summarization()]),
    Variant("Compaction, a summary stands", lambda: [_compaction()], before=_summarised),
    Variant("LangChain: SummarizationMiddleware, it has removed", lambda: [_summarization()], before=_stock_summarised),
    Variant("Ledger", lambda: [Ledger()]),
    Variant("Profile", lambda: [Profile(PROFILE)]),
    Variant("Recall, by words", lambda: [Recall(ITEMS)]),
    Variant("LangChain: dynamic_prompt, store.search by words", lambda: [_prompted]),
    Variant("Recall, hybrid", lambda: [Recall(ITEMS)], "vectors"),
    Variant("LangChain: dynamic_prompt, store.search, hybrid", lambda: [_prompted], "vectors"),
    Variant("all of Perdure's, a summary stands", _all, "vectors", before=_summarised),
)
"""The first is what the others are compared with."""
