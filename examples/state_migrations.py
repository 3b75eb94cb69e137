"""A release renames a field of the state and adds one: threads of the old release go on in the new shape."""

import tempfile
from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from perdure import Memory, errors


class Basket(TypedDict):
    """The state of the first release."""

    items: Annotated[list[str], add]


class Order(TypedDict):
    """The state of the second release."""

    lines: Annotated[list[str], add]
    currency: str


def to_order(state: dict[str, Any]) -> dict[str, Any]:
    """1 -> 2: `items` are `lines`, and there is a currency."""
    return {"lines": state.get("items", []), "currency": "EUR"}


def graph(memory: Memory, state: type, field: str) -> CompiledStateGraph:
    """Return a graph that adds a gift to what was ordered."""
    builder = StateGraph(state)
    builder.add_node("gift", lambda _: {field: ["gift"]})
    builder.add_edge(START, "gift")
    return builder.compile(checkpointer=memory.checkpointer)


with tempfile.TemporaryDirectory() as folder:
    url = f"sqlite:///{folder}/shop.db"
    config = {"configurable": {"thread_id": "order-1"}}

    with Memory.open(url) as memory:
        shop = graph(memory, Basket, "items")
        shop.invoke({"items": ["tea"]}, config)
        print("first release: ", shop.get_state(config).values)

    with Memory.open(url, schema_version=2) as memory:  # without the migration, nothing is lost in silence
        try:
            graph(memory, Order, "lines").invoke({"lines": ["milk"]}, config)
        except errors.StateVersionError as error:
            print("unprepared:    ", error)
        else:
            raise AssertionError("the old state was read as if it were a new one")

    with Memory.open(url, schema_version=2, migrations={1: to_order}) as memory:
        shop = graph(memory, Order, "lines")
        print("second release:", shop.get_state(config).values)
        shop.invoke({"lines": ["milk"]}, config)
        history = [found.values.get("lines") for found in shop.get_state_history(config)]
        print("its history:   ", history)

    with Memory.open(url, schema_version=2) as memory:  # the newest state is stored in the new shape
        now = graph(memory, Order, "lines").get_state(config).values
        assert now == {"lines": ["tea", "gift", "milk", "gift"], "currency": "EUR"}

print("Every old thread went on in the new shape, and an unprepared release was refused.")
