"""A long conversation with tool calls, and a fake model that keeps what it was shown."""

from __future__ import annotations

import random
from typing import Any, Final

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from benchmarks import agents

__all__ = ["WatchedModel", "lacking", "talk"]

_SIZE: Final = 350
_CHINESE: Final = 5
"""One turn of so many is in Chinese."""
_CHARACTERS: Final = "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学"
_ANSWER: Final = "Yes, that is how it was the last time too. " * 8


class WatchedModel(BaseChatModel):
    """A fake of a language model: answers at once, always the same, and keeps the messages of the last request."""

    _shown: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "watched fake"

    @property
    def shown(self) -> list[BaseMessage]:
        """What the last request held."""
        return self._shown[-1]

    def bind_tools(self, tools: Any, **given: Any) -> WatchedModel:  # noqa: ARG002 - the interface
        """Return the model, which calls none of them."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **given: Any) -> ChatResult:  # noqa: ARG002
        self._shown[:] = [messages]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(_ANSWER))])


def talk(turns: int) -> list[BaseMessage]:
    """Return so many turns: in every other one the model calls two tools at once before it answers."""
    chance = random.Random(2000)
    found: list[BaseMessage] = []
    for turn in range(turns):
        say = _chinese if turn % _CHINESE == _CHINESE - 1 else _english
        found.append(HumanMessage(say(chance)))
        if turn % 2 == 0:
            found += _looked_up(turn, say(chance), say(chance), say(chance))
        found.append(AIMessage(say(chance)))
    return [message.model_copy(update={"id": f"message-{at}"}) for at, message in enumerate(found)]


def _looked_up(turn: int, said: str, *results: str) -> list[BaseMessage]:
    ids = [f"call-{turn}-{number}" for number in range(len(results))]
    calls: list[Any] = [{"name": "look_up", "args": {"number": number}, "id": one} for number, one in enumerate(ids)]
    answers = [ToolMessage(text, tool_call_id=one, name="look_up") for text, one in zip(results, ids, strict=True)]
    return [AIMessage(said, tool_calls=calls), *answers]


def _english(chance: random.Random) -> str:
    return agents.text(_SIZE // 6 + chance.randrange(20))[:_SIZE]


def _chinese(chance: random.Random) -> str:
    return ",".join("".join(chance.choices(_CHARACTERS, k=13)) for _ in range(_SIZE // 14))


def lacking(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return a conversation without the tool result in its middle, as an interrupted run leaves it."""
    middle = next(at for at in range(len(messages) // 2, 0, -1) if isinstance(messages[at], ToolMessage))
    return [*messages[:middle], *messages[middle + 1 :]]
