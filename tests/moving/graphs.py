"""Graphs whose threads are moved: each kind of state that a saver may hold, and where each goes on."""

from __future__ import annotations

import datetime as dt
import enum
import operator
import uuid
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict

from benchmarks import agents
from langchain_core.messages import HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Leg(BaseModel):
    start: str
    days: int = 1


class Trip(BaseModel):
    title: str
    legs: list[Leg]
    mood: Mood = Mood.GOOD


@dataclass
class Point:
    x: float
    y: Any = None


class Pair(NamedTuple):
    left: int
    right: str


TYPES = (Mood, Trip, Leg, Point, Pair)


class Wide(TypedDict):
    trip: Any
    values: Annotated[list, operator.add]


class Numbers(TypedDict):
    seen: Annotated[list, operator.add]


def _append(state, writes):
    return state + [item for write in writes for item in write]


class Delta(TypedDict):
    seen: Annotated[list, DeltaChannel(_append)]


def approval(saver):
    """Ask in a node, twice."""

    def ask(state):
        first = interrupt({"question": "one?"})
        return {"seen": [first, interrupt({"question": "two?", "after": first})]}

    builder = StateGraph(Numbers)
    builder.add_node("before", lambda _: {"seen": ["before"]})
    builder.add_node("ask", ask)
    builder.add_edge(START, "before")
    builder.add_edge("before", "ask")
    return builder.compile(checkpointer=saver)


def fan(saver):
    """Send to five tasks, of which one asks."""

    def work(number):
        return {"seen": [interrupt("three?") if number == 3 else number]}

    builder = StateGraph(Numbers)
    builder.add_node("work", work)
    builder.add_conditional_edges(START, lambda _: [Send("work", number) for number in range(5)])
    return builder.compile(checkpointer=saver)


def nested(saver):
    """Ask in a subgraph."""
    inner = StateGraph(Numbers)
    inner.add_node("first", lambda _: {"seen": ["inner"]})
    inner.add_node("ask", lambda _: {"seen": [interrupt("inner?")]})
    inner.add_edge(START, "first")
    inner.add_edge("first", "ask")
    builder = StateGraph(Numbers)
    builder.add_node("sub", inner.compile())
    builder.add_edge(START, "sub")
    return builder.compile(checkpointer=saver)


def delta(saver):
    builder = StateGraph(Delta)
    builder.add_node("one", lambda state: {"seen": [f"answer {len(state['seen'])}"]})
    builder.add_edge(START, "one")
    return builder.compile(checkpointer=saver)


def wide(saver):
    """Hold values of many types, classes of a user's own among them."""

    def fill(state):
        return {
            "trip": Trip(title="Alps", legs=[Leg(start="Chur"), Leg(start="Sion", days=3)], mood=Mood.BAD),
            "values": [
                Point(1.5, {"pair": Pair(1, "r"), "mood": Mood.GOOD}),
                uuid.UUID(int=7),
                dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC),
                dt.timedelta(days=2),
                {"set"},
                {1: "int key"},
                b"bytes",
                2.5,
            ],
        }

    def ask(state):
        return {"values": [interrupt(Point(2.0))]}

    builder = StateGraph(Wide)
    builder.add_node("fill", fill)
    builder.add_node("ask", ask)
    builder.add_edge(START, "fill")
    builder.add_edge("fill", "ask")
    return builder.compile(checkpointer=saver)


def talk(saver):
    return agents.build("tools", saver)


def agent_below(saver):
    return agents.build("subgraph", saver)


BUILDERS = {
    "talk": talk,
    "below": agent_below,
    "approval": approval,
    "fan": fan,
    "nested": nested,
    "delta": delta,
    "wide": wide,
    "fork": talk,
}


def config(thread):
    return {"configurable": {"thread_id": thread}}


def begin(saver):
    """Leave a thread of each kind as it is when somebody decides to move."""
    for name in ("talk", "below", "fork"):
        graph = BUILDERS[name](saver)
        for turn in range(3):
            graph.invoke({"messages": [HumanMessage(f"turn {turn} 咖啡")]}, config(name))
    graph = talk(saver)
    early = next(found for found in graph.get_state_history(config("fork")) if found.metadata["step"] == 0)
    graph.update_state(early.config, {"messages": [HumanMessage("another way")]})
    graph.invoke(None, config("fork"))
    for name in ("approval", "fan", "nested"):
        BUILDERS[name](saver).invoke({"seen": ["start"]}, config(name))
    for turn in range(4):
        delta(saver).invoke({"seen": [f"turn {turn}"]}, config("delta"))
    wide(saver).invoke({"trip": None, "values": []}, config("wide"))


def go_on(saver):
    """Take each thread further, and return what came of it."""
    found = {}
    for name in ("talk", "below", "fork"):
        live = BUILDERS[name](saver).invoke({"messages": [HumanMessage("and now?")]}, config(name))
        found[name] = [type(message).__name__ for message in live["messages"]]
    approval(saver).invoke(Command(resume="yes"), config("approval"))
    for name in ("approval", "fan", "nested"):
        found[name] = BUILDERS[name](saver).invoke(Command(resume="no"), config(name))["seen"]
    found["delta"] = delta(saver).invoke({"seen": ["more"]}, config("delta"))["seen"]
    live = wide(saver).invoke(Command(resume=Mood.BAD), config("wide"))
    found["wide"] = [type(part).__name__ for part in [live["trip"], *live["values"]]]
    return found
