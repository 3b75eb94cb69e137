"""A graph of your own: its state is kept after every step, and the next run goes on from it."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph

from perdure import Memory


class Basket(TypedDict):
    """What the graph keeps: `items` grows, `total` is replaced."""

    items: Annotated[list[tuple[str, int]], operator.add]
    total: int


def add_up(state: Basket) -> dict[str, int]:
    """Count the prices."""
    return {"total": sum(price for _, price in state["items"])}


def gift(_: Basket) -> dict[str, list[tuple[str, int]]]:
    """Put a gift into the basket."""
    return {"items": [("gift", 0)]}


def is_large(state: Basket) -> str:
    """Choose the next node."""
    return "gift" if state["total"] >= 50 and ("gift", 0) not in state["items"] else END


builder = StateGraph(Basket)
builder.add_node(add_up)
builder.add_node(gift)
builder.add_edge(START, "add_up")
builder.add_conditional_edges("add_up", is_large)
builder.add_edge("gift", END)

with Memory.open("sqlite://") as memory:
    graph = builder.compile(checkpointer=memory.checkpointer)
    config = {"configurable": {"thread_id": "basket-1"}}
    print(graph.invoke({"items": [("tea", 30)]}, config))
    result = graph.invoke({"items": [("pot", 25)]}, config)
    print(result)
    assert result == {"items": [("tea", 30), ("pot", 25), ("gift", 0)], "total": 55}
    assert graph.get_state(config).values == result  # tuples come back as tuples

print("The second run went on with the first one's basket.")
