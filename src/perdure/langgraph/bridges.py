"""Bridges: a history for chains that load messages before a call and save them after it, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, get_buffer_string

from perdure import errors

__all__ = ["ChainMemory"]

_OUTPUT: Final = "output"
"""Under which LangChain's tracers put the output of a chain that gives no dict."""


class ChainMemory:
    """What chains written for LangChain's old memory classes ask of one. Made by `History.as_memory`.

    `input_key` and `output_key` name what a person and the model said; they may be left out where there is one only.
    """

    def __init__(
        self,
        history: BaseChatMessageHistory,
        memory_key: str = "history",
        input_key: str | None = None,
        output_key: str | None = None,
        *,
        return_messages: bool = True,
    ) -> None:
        self.history = history
        self.memory_key = memory_key
        self.input_key = input_key
        self.output_key = output_key
        self.return_messages = return_messages

    @property
    def memory_variables(self) -> list[str]:
        """The one key that is loaded."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Return the messages so far; as one text unless `return_messages`."""
        return self._loaded(self.history.messages)

    async def aload_memory_variables(self, inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Do what `load_memory_variables` does."""
        return self._loaded(await self.history.aget_messages())

    def save_context(self, inputs: Mapping[str, Any], outputs: object) -> None:
        """Add what went in and what came out, together."""
        self.history.add_messages(self._exchange(inputs, outputs))

    async def asave_context(self, inputs: Mapping[str, Any], outputs: object) -> None:
        """Do what `save_context` does."""
        await self.history.aadd_messages(self._exchange(inputs, outputs))

    def clear(self) -> None:
        """Empty the history's messages."""
        self.history.clear()

    async def aclear(self) -> None:
        """Do what `clear` does."""
        await self.history.aclear()

    def _loaded(self, messages: list[BaseMessage]) -> dict[str, Any]:
        return {self.memory_key: messages if self.return_messages else get_buffer_string(messages)}

    def _exchange(self, inputs: Mapping[str, Any], outputs: object) -> list[BaseMessage]:
        given = {name: value for name, value in inputs.items() if name != self.memory_key}
        made = outputs if isinstance(outputs, Mapping) else {_OUTPUT: outputs}
        said = _messages(_one(given, self.input_key, "input_key"), HumanMessage)
        return said + _messages(_one(made, self.output_key, "output_key"), AIMessage)


def _one(given: Mapping[str, Any], key: str | None, what: str) -> Any:
    if key is not None:
        if key not in given:
            raise errors.InvalidInputError(f"{what} is {key!r}, and there are only {sorted(given)}")
        return given[key]
    if len(given) != 1:
        raise errors.InvalidInputError(f"which of {sorted(given)} is the message? Name it with as_memory({what}=…)")
    return next(iter(given.values()))


def _messages(value: object, kind: type[BaseMessage]) -> list[BaseMessage]:
    if isinstance(value, str):
        return [kind(content=value)]
    found = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(message, BaseMessage) for message in found):
        raise errors.InvalidInputError(f"a text, a message or a list of messages is saved, not {type(value).__name__}")
    return list(found)
