"""A state made of pydantic models, dataclasses and enums: what goes in comes out, of the same type."""

import enum
import tempfile
from dataclasses import dataclass
from pathlib import Path

from langgraph.graph import START, StateGraph
from pydantic import BaseModel

from perdure import Memory, errors


class Urgency(enum.Enum):
    """How soon."""

    LOW = 1
    HIGH = 2


@dataclass
class Address:
    """Where."""

    city: str


class Order(BaseModel):
    """The state of the graph."""

    number: int
    urgency: Urgency = Urgency.LOW
    to: Address | None = None


def plan(order: Order) -> dict[str, object]:
    """Decide how it is sent."""
    return {"urgency": Urgency.HIGH, "to": Address(f"city {order.number}")}


builder = StateGraph(Order)
builder.add_node(plan)
builder.add_edge(START, "plan")
config = {"configurable": {"thread_id": "order-7"}}

with tempfile.TemporaryDirectory() as folder:
    url = f"sqlite:///{Path(folder) / 'agent.db'}"
    with Memory.open(url) as memory:
        builder.compile(checkpointer=memory.checkpointer).invoke(Order(number=7), config)

    with Memory.open(url) as memory:  # a new process that forgot to say which classes it has
        try:
            memory.checkpointer.get_tuple(config)
        except errors.UnknownTypeError as error:
            print("refused:", error)
        else:
            raise AssertionError

    with Memory.open(url, types=[Order, Urgency, Address]) as memory:  # or memory.register(graph)
        values = builder.compile(checkpointer=memory.checkpointer).get_state(config).values
        print("read:", values)
        assert values == {"number": 7, "urgency": Urgency.HIGH, "to": Address("city 7")}

print("Every value came back equal and of its own type.")
