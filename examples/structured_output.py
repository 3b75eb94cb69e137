"""Structured answers: the model's answer is an object of your class, and comes back as one."""

import tempfile
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from perdure import Memory


class Weather(BaseModel):
    """What the agent answers with."""

    city: str
    degrees: float


class FakeModel(GenericFakeChatModel):
    """No language model: it says what it was given to say."""

    def bind_tools(self, _tools: object, **_: object) -> "FakeModel":
        """Accept tools."""
        return self


def agent_on(memory: Memory) -> Any:
    """Return an agent whose answers are `Weather`."""
    answer = AIMessage("", tool_calls=[{"name": "Weather", "args": {"city": "Lisbon", "degrees": 21.5}, "id": "1"}])
    model = FakeModel(messages=iter([answer]))
    agent = create_agent(model, response_format=ToolStrategy(Weather), checkpointer=memory.checkpointer)
    memory.register(agent)  # finds Weather in the agent's schemas; types=[Weather] in open does the same
    return agent


config = {"configurable": {"thread_id": "weather"}}

with tempfile.TemporaryDirectory() as folder:
    url = f"sqlite:///{Path(folder) / 'agent.db'}"
    with Memory.open(url) as memory:
        result = agent_on(memory).invoke({"messages": [("user", "How is it in Lisbon?")]}, config)
        print("answer: ", repr(result["structured_response"]))

    with Memory.open(url) as memory:  # as after a restart
        found = agent_on(memory).get_state(config).values["structured_response"]
        print("read:   ", repr(found))
        assert found == Weather(city="Lisbon", degrees=21.5)
        assert type(found) is Weather

print("The answer came back as an object of its class.")
