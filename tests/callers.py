"""An agent that calls one tool, for tests of what tools do with a store."""

from __future__ import annotations

import asyncio

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class Model(GenericFakeChatModel):
    """Fake: says what it was told to say."""

    def bind_tools(self, tools, **options):
        return self


def called(memory, tools, name, given, *, style, **configurable):
    """Let an agent call a tool, in the async style with an event loop of its own; return what the tool answered."""
    wanted = AIMessage("", tool_calls=[{"name": name, "args": given, "id": "c1"}])
    model = Model(messages=iter([wanted, AIMessage("done")]))
    agent = create_agent(model, tools, checkpointer=memory.checkpointer, store=memory.store)
    asked, config = {"messages": [("human", "go")]}, {"configurable": {"thread_id": "t", **configurable}}
    state = agent.invoke(asked, config) if style == "sync" else asyncio.run(agent.ainvoke(asked, config))
    answer = [message for message in state["messages"] if message.type == "tool"][-1]
    assert answer.status == "success", answer.content
    return answer.content
