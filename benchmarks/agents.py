"""The work: agents of four shapes with a model that answers at once, and messages of 120 words."""

from __future__ import annotations

import random
import uuid
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

__all__ = ["SHAPES", "InstantModel", "build", "human", "raw_bytes", "text"]

SHAPES = ("plain", "tools", "subgraph", "send")

_random = random.Random(20261130)
_WORDS = [
    "".join(_random.choice("etaoinshrdlucmfwypvbgkjqxz"[: 8 + n % 18]) for _ in range(_random.randint(2, 10)))
    for n in range(5000)
]


def text(words: int = 120) -> str:
    """Return words that compress about as badly as names and numbers do."""
    return " ".join(_random.choices(_WORDS, k=words))


class InstantModel(BaseChatModel):
    """A fake of a language model: answers at once with words of no meaning, after two tool calls if it has tools."""

    with_tools: bool = False

    @property
    def _llm_type(self) -> str:
        return "instant fake"

    def bind_tools(self, tools: Any, **given: Any) -> InstantModel:  # noqa: ARG002 - the interface
        """Return the model, which will call the tools."""
        return self.model_copy(update={"with_tools": True})

    def _generate(self, messages: list[BaseMessage], *_: Any, **given: Any) -> ChatResult:  # noqa: ARG002
        if self.with_tools and messages[-1].type == "human":
            calls = [{"name": "look_up", "args": {"number": n}, "id": str(uuid.uuid4())} for n in (1, 2)]
            answer = AIMessage("", tool_calls=calls)
        else:
            answer = AIMessage(text())
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def look_up(number: int) -> str:
    """Look something up."""
    return f"{number}: {text()}"


def _answer(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001 - a node takes the state
    return {"messages": [AIMessage(text(40))]}


def build(shape: str, checkpointer: Any) -> Any:
    """Return the agent of a shape: plain, with tools, as a subgraph node, or its state sent to three nodes."""
    if shape == "plain":
        return create_agent(InstantModel(), [], checkpointer=checkpointer)
    if shape == "tools":
        return create_agent(InstantModel(), [look_up], checkpointer=checkpointer)
    graph = StateGraph(MessagesState)
    if shape == "subgraph":
        graph.add_node("agent", create_agent(InstantModel(), []))
        graph.add_edge(START, "agent")
    else:
        for name in ("first", "second", "third"):
            graph.add_node(name, _answer)
        graph.add_conditional_edges(START, lambda state: [Send(name, state) for name in ("first", "second", "third")])
    return graph.compile(checkpointer=checkpointer)


def human() -> dict[str, Any]:
    """Return the input of one turn."""
    return {"messages": [HumanMessage(text())]}


def raw_bytes(messages: list[BaseMessage]) -> int:
    """Return the bytes of what was said, as UTF-8."""
    return sum(len(message.text.encode()) for message in messages)
