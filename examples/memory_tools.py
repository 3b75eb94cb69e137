"""A model that remembers: what its tool stores in one thread it finds in another, of the same user and no other."""

import json
from dataclasses import dataclass

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from perdure import Memory
from perdure.tools import memory_tools


class FakeModel(GenericFakeChatModel):
    """No language model: it says what it was given to say."""

    def bind_tools(self, _tools: object, **_: object) -> "FakeModel":
        """Accept tools."""
        return self


@dataclass(frozen=True)
class User:
    """Who runs the agent."""

    user_id: str


memory = Memory.open("sqlite://")
tools = memory_tools(memory)
for tool in tools:
    function = convert_to_openai_tool(tool)["function"]
    print(function["name"], json.dumps(function["parameters"]["properties"]))
    assert set(function["parameters"]["properties"]) <= {"text", "query", "id"}  # no user, tenant or namespace


def call(user: str, thread: str, name: str, **given: str) -> ToolMessage:
    """Let the model call a tool in a thread of a user; return what the tool answered."""
    wish = AIMessage("", tool_calls=[{"name": name, "args": given, "id": "call-1"}])
    model = FakeModel(messages=iter([wish, AIMessage("Done.")]))
    agent = create_agent(model, tools, context_schema=User, checkpointer=memory.checkpointer, store=memory.store)
    config = {"configurable": {"thread_id": thread}}
    state = agent.invoke({"messages": [("user", "…")]}, config, context=User(user_id=user))
    answer: ToolMessage = state["messages"][-2]
    print(f"{user}, {thread}: {name} -> {answer.status}: {answer.text}")
    return answer


call("ada", "thread A", "remember", text="Ada prefers answers in German.")
assert "answers in German" in call("ada", "thread B", "recall", query="which answers?").text
assert call("bob", "thread C", "recall", query="which answers?").text == "Nothing is remembered about that."

# The model can't choose whose memories they are
forged = call("bob", "thread D", "remember", text="Everybody prefers French.", user_id="ada")
assert forged.status == "error"
assert "user_id" in forged.text

# It changes and forgets by key, and is told what went wrong
(item,) = memory.store.search(("memories", "ada"))
call("ada", "thread E", "update_memory", id=item.key, text="Ada prefers answers in Dutch.")
changed = memory.store.get(("memories", "ada"), item.key)
assert changed.value == {"text": "Ada prefers answers in Dutch."}
assert changed.about.source.thread == "thread E"
assert call("bob", "thread F", "forget", id=item.key).status == "error"  # there is none of his with this key
assert call("ada", "thread G", "forget", id=item.key).status == "success"
assert memory.store.search(("memories",)) == []

memory.close()
print("What was remembered in one thread was found in another, by its own user only.")
