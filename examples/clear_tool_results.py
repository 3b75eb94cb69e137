"""Show references in place of old, long tool results; the model reads one again when it needs it."""

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from perdure import Memory
from perdure.middleware import ClearToolResults


@tool
def read_file(name: str) -> str:
    """Read a file."""
    return f"{name}: " + "line " * 1000


class FakeModel(GenericFakeChatModel):
    """No language model: it says what it was given to say, and prints what it is shown of tools."""

    def bind_tools(self, _tools: object, **_: object) -> "FakeModel":
        """Accept tools."""
        return self

    def invoke(self, messages: object, *given: object, **more: object) -> AIMessage:
        """Print how long the tool results are that it is shown."""
        print("shown results of", [len(message.text) for message in messages if message.type == "tool"], "characters")
        return super().invoke(messages, *given, **more)


def call(tool_name: str, number: int, **args: object) -> AIMessage:
    """Return a model's wish to call a tool."""
    return AIMessage("", tool_calls=[{"name": tool_name, "args": args, "id": f"call-{number}"}])


script = [
    call("read_file", 1, name="a.txt"),
    call("read_file", 2, name="b.txt"),
    AIMessage("I have read both."),
    call("read_tool_result", 3, reference="call-1"),
    AIMessage("Now I know a.txt again."),
]
memory = Memory.open("sqlite://")
agent = create_agent(
    FakeModel(messages=iter(script)),
    [read_file],
    middleware=[ClearToolResults(memory, keep=1)],
    checkpointer=memory.checkpointer,
)
config = {"configurable": {"thread_id": "files"}}
agent.invoke({"messages": [("user", "Read a.txt and b.txt.")]}, config)
agent.invoke({"messages": [("user", "What did a.txt say?")]}, config)

results = [message for message in agent.get_state(config).values["messages"] if message.type == "tool"]
print("stored results of", [len(message.text) for message in results], "characters")
assert [len(message.text) > 1000 for message in results] == [True, True, True]
assert results[2].text.startswith("a.txt: line")

memory.close()
print("What was left out could be read again.")
