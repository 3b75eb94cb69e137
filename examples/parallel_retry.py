"""A failure beside a success: of two nodes that run at once one fails, and only that one runs again."""

import operator
import time
from collections import Counter
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph

from perdure import Memory

runs: Counter[str] = Counter()


class Trip(TypedDict):
    """What was booked."""

    booked: Annotated[list[str], operator.add]


def flight(_: Trip) -> Trip:
    """Book a flight; must not happen twice."""
    runs["flight"] += 1
    return {"booked": ["flight"]}


def hotel(_: Trip) -> Trip:
    """Book a hotel; fails at the first attempt."""
    runs["hotel"] += 1
    time.sleep(0.5)  # the flight is booked by then
    if runs["hotel"] == 1:
        raise ConnectionError("the hotel does not answer")
    return {"booked": ["hotel"]}


builder = StateGraph(Trip)
builder.add_node(flight)
builder.add_node(hotel)
builder.add_edge(START, "flight")
builder.add_edge(START, "hotel")

with Memory.open("sqlite://") as memory:
    graph = builder.compile(checkpointer=memory.checkpointer)
    config = {"configurable": {"thread_id": "trip"}}
    try:
        graph.invoke({"booked": []}, config)
    except ConnectionError as error:
        print("failed:", error)
    assert memory.threads.get("trip").status == "error"

    result = graph.invoke(None, config)  # go on where it stopped
    print("booked:", sorted(result["booked"]), "runs:", dict(runs))
    assert sorted(result["booked"]) == ["flight", "hotel"]
    assert runs == {"flight": 1, "hotel": 2}
    assert memory.threads.get("trip").status == "idle"

print("What had succeeded was not done again.")
