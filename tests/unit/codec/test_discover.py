"""The classes a graph can lead to."""

from __future__ import annotations

import dataclasses
import enum
import operator
from typing import Annotated, NamedTuple, NotRequired, Union

import pydantic
import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from perdure.core.codec import Codec, types_of


class Color(enum.Enum):
    RED = 1


class Leaf(pydantic.BaseModel):
    color: Color


class Answer(pydantic.BaseModel):
    leaves: list[Leaf]
    later: Later | None = None


class Later(pydantic.BaseModel):
    n: int


class Other(pydantic.BaseModel):
    n: int


@dataclasses.dataclass
class Context:
    other: Other


class Depth(enum.IntFlag):
    DEEP = 1


class Pair(NamedTuple):
    depth: Depth


class State(TypedDict):
    leaves: Annotated[list[Leaf], operator.add]
    pair: NotRequired[Pair | None]
    by_name: dict[str, Other]


class Plain(TypedDict):
    n: int


class MiddlewareState(AgentState):
    pair: NotRequired[Pair]


class Middleware(AgentMiddleware):
    state_schema = MiddlewareState


ANSWER = {Answer, Leaf, Color, Later}
STATE = {Leaf, Color, Pair, Depth, Other}


def _model():
    return GenericFakeChatModel(messages=iter([]))


def _graph(state, **nodes):
    builder = StateGraph(state)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder


@pytest.mark.parametrize(
    ("response_format", "expected"),
    [
        (None, set()),
        (Answer, ANSWER),
        (ToolStrategy(Answer), ANSWER),
        (ProviderStrategy(Answer), ANSWER),
        (ToolStrategy(Union[Answer, Other]), ANSWER | {Other}),  # noqa: UP007 - the form users write
        (Context, {Context, Other}),
    ],
)
def test_an_agents_response_format_is_found(response_format, expected):
    assert types_of(create_agent(_model(), [], response_format=response_format)) == expected


def test_an_agents_context_and_middleware_state_are_found():
    agent = create_agent(_model(), [], context_schema=Context, middleware=[Middleware()])
    assert types_of(agent) == {Context, Other, Pair, Depth}


def test_a_graphs_state_is_found_before_and_after_compiling():
    builder = _graph(State, node=lambda state: state)
    assert types_of(builder) == types_of(builder.compile()) == STATE


def test_subgraphs_are_found():
    inner = _graph(State, node=lambda state: state).compile()
    agent = create_agent(_model(), [], response_format=Answer)
    outer = _graph(Plain, inner=inner, agent=agent)
    assert types_of(outer) == types_of(outer.compile()) == STATE | ANSWER


def test_a_subgraph_called_inside_a_node_is_found():
    inner = _graph(State, node=lambda state: state).compile()

    def node(state):
        return inner.invoke(state)

    assert types_of(_graph(Plain, node=node).compile()) == STATE


def test_the_input_schema_of_a_node_is_found():
    class Input(TypedDict):
        answer: Answer

    def node(state: Input):
        return {}

    node.__annotations__["state"] = Input  # a local class under postponed annotations
    assert types_of(_graph(Plain, node=node).compile()) == ANSWER


def test_types_and_iterables_of_them_are_walked():
    assert types_of(Color) == {Color}
    assert types_of(Context | None) == {Context, Other}
    assert types_of([State, Answer]) == STATE | ANSWER
    assert types_of(int) == set()


def test_what_is_found_can_be_registered():
    codec = Codec()
    codec.register(*types_of(create_agent(_model(), [], response_format=Answer)))
    value = Answer(leaves=[Leaf(color=Color.RED)])
    assert codec.unpack(Codec().pack(value)) == value
