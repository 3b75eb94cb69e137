"""A fake language model for tests, which says that it is one and keeps what it was asked."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field


class RecordingModel(BaseChatModel):
    """Fake: answers from a script, and with "done" after its end; `seen` and `bound` are what it was given.

    A function in the script is given the messages.
    """

    script: Any = ()
    seen: Any = Field(default_factory=list)
    bound: Any = Field(default_factory=list)

    @property
    def _llm_type(self):
        return "recording fake"

    def bind_tools(self, tools, **options):
        self.bound.append(list(tools))
        return self

    def _next(self, messages):
        at = len(self.seen)
        self.seen.append([message.model_copy(deep=True) for message in messages])
        given = self.script[at] if at < len(self.script) else "done"
        given = given(messages) if callable(given) else given
        return AIMessage(given) if isinstance(given, str) else given

    def _generate(self, messages, stop=None, run_manager=None, **options):
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(self, messages, stop=None, run_manager=None, **options):
        said = self._next(messages)
        yield ChatGenerationChunk(message=AIMessageChunk("", tool_calls=said.tool_calls))
        for at, word in enumerate(said.text.split(" ")):
            yield ChatGenerationChunk(message=AIMessageChunk(f" {word}" if at else word))


def calling(name, number=1, **given):
    """Return a model's wish to call a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": given, "id": f"call-{number}"}])
