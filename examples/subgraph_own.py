"""A subgraph with its own memory: `checkpointer=True` lets it remember its state from call to call."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph

from perdure import Memory


class Diary(TypedDict):
    """The subgraph's state, which its parent doesn't have."""

    notes: Annotated[list[str], operator.add]


class Talk(TypedDict):
    """The parent's state."""

    said: str
    count: int


def note(state: Diary) -> Diary:
    """Write down that there was one more call."""
    return {"notes": [f"note {len(state['notes'])}"]}


inner = StateGraph(Diary)
inner.add_node(note)
inner.add_edge(START, "note")
diary = inner.compile(checkpointer=True)


def listen(state: Talk) -> dict[str, int]:
    """Hand what was said to the subgraph, and count what it holds by now."""
    return {"count": len(diary.invoke({"notes": [state["said"]]})["notes"])}


outer = StateGraph(Talk)
outer.add_node(listen)
outer.add_edge(START, "listen")

with Memory.open("sqlite://") as memory:
    graph = outer.compile(checkpointer=memory.checkpointer)
    one, two = ({"configurable": {"thread_id": name}} for name in ("one", "two"))
    counts = [graph.invoke({"said": said}, one)["count"] for said in ("hello", "again")]
    print("thread one, after each call:", counts)
    assert counts == [2, 4]  # the second call found the notes of the first
    assert graph.invoke({"said": "hello"}, two)["count"] == 2  # another thread has a diary of its own

print("The subgraph remembered its own state, thread by thread.")
