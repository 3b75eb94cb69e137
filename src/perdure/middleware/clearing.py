"""Clearing old tool results from requests, and the tool that reads them again."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from perdure import errors
from perdure.core.conversations import clearing, marks
from perdure.langgraph.histories import History
from perdure.memory import Memory
from perdure.middleware import checks, requests
from perdure.middleware.requests import Request
from perdure.middleware.shaping import Shaping
from perdure.model import Said

__all__ = ["ClearToolResults"]


class ClearToolResults(Shaping):
    """Shows the model references in place of old, long tool results, and gives it a tool that reads them.

    For this request only: the state keeps the results. The last `keep` results stay as they are, and those of up to
    `longer_than` characters, and those of the tools in `exclude`. The tool ``read_tool_result`` reads `page`
    characters at a time. With a `memory` it also finds results that `clear_tool_results` has replaced in the state
    itself, from the thread's earlier checkpoints.
    """

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        keep: int = 3,
        longer_than: int = 1000,
        exclude: Collection[str] = (),
        page: int = 4000,
    ) -> None:
        super().__init__()
        try:
            clearing.check(keep, longer_than, exclude)
        except errors.InvalidInputError as error:
            raise errors.ConfigurationError(f"ClearToolResults: {error}") from None
        checks.whole("ClearToolResults", "page", page)
        self._keep, self._longer_than, self._exclude = keep, longer_than, frozenset(exclude)
        self.tools = [_reader(memory, page)]

    def shaped(self, request: Request) -> Request:
        """Return the request with references in place of old, long tool results."""
        messages: list[BaseMessage] = [*request.messages]
        cleared = [*clearing.references(messages, self._keep, self._longer_than, self._exclude)]
        for at, reference in cleared:
            messages[at] = reference
        noted = requests.noted(request, "clearing", cleared=len(cleared)) if cleared else request
        return requests.shown(noted, messages)


def _reader(memory: Memory | None, page: int) -> BaseTool:
    """Return the tool that reads results; it finds those of its own thread only."""

    def read_tool_result(reference: str, runtime: ToolRuntime, start: int = 0) -> str:
        found, history = _held(memory, runtime, reference)
        if history is not None:
            found = _said(history.transcript(), reference)
        return _page(reference, found, start, page)

    async def aread_tool_result(reference: str, runtime: ToolRuntime, start: int = 0) -> str:
        found, history = _held(memory, runtime, reference)
        if history is not None:
            found = _said(await history.atranscript(), reference)
        return _page(reference, found, start, page)

    return StructuredTool.from_function(
        read_tool_result,
        coroutine=aread_tool_result,
        name=clearing.READ_TOOL,
        description="Read a tool result that was left out. `start` is the character to begin at.",
        handle_tool_error=True,
    )


def _is_gone(found: ToolMessage | None) -> bool:
    return found is None or marks.kind_of(found) == "cleared"


def _held(memory: Memory | None, runtime: ToolRuntime, reference: str) -> tuple[ToolMessage | None, History | None]:
    """Return the result that the state holds, and the thread's history if it has to be looked for there."""
    found = clearing.result_of(runtime.state["messages"], reference)
    thread = runtime.config.get("configurable", {}).get("thread_id")
    if memory is None or thread is None or not _is_gone(found):
        return found, None
    return found, memory.history(str(thread))


def _said(transcript: Iterable[Said], reference: str) -> ToolMessage | None:
    return clearing.result_of((one.message for one in transcript), reference)


def _page(reference: str, found: ToolMessage | None, start: int, size: int) -> str:
    if found is None or _is_gone(found):
        raise ToolException(f"There is no result {reference!r} in this conversation any more.")
    text = clearing.text_of(found)
    if not 0 <= start < max(len(text), 1):
        raise ToolException(f"The result has {len(text):,} characters: start is a number from 0 to {len(text) - 1}.")
    end = start + size
    more = f"\n[{len(text) - end:,} more characters: start={end}]" if end < len(text) else ""
    return text[start:end] + more
