"""Fields of your own beside the messages: kept with the thread, and absent until somebody sets them."""

from typing import NotRequired

from langchain.agents import AgentState, create_agent

from perdure import Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here


class Customer(AgentState):
    """The agent's state: who it talks to, and in which language."""

    plan: str
    language: NotRequired[str | None]


with Memory.open("sqlite://") as memory:
    agent = create_agent(StandInModel(), state_schema=Customer, checkpointer=memory.checkpointer)
    config = {"configurable": {"thread_id": "support-1"}}

    agent.invoke({"messages": [("user", "Hello")], "plan": "premium"}, config)
    kept = agent.get_state(config).values
    print("kept:", {name: value for name, value in kept.items() if name != "messages"})
    assert kept["plan"] == "premium"
    assert "language" not in kept  # never set, so it is absent

    agent.invoke({"messages": [("user", "Hello again")], "language": None}, config)
    kept = agent.get_state(config).values
    print("kept:", {name: value for name, value in kept.items() if name != "messages"})
    assert kept["plan"] == "premium"
    assert kept["language"] is None  # set to None, which is something else

print("Absent stayed absent, and None stayed None.")
