"""A tool that changes the state: it returns a `Command`, and what it sets stays with the thread."""

from langchain.agents import AgentState, create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from perdure import Memory


class Cart(AgentState):
    """The agent's state, with a field more."""

    cart: list[str]


@tool
def add_to_cart(name: str, runtime: ToolRuntime) -> Command:
    """Put something into the cart."""
    cart = [*runtime.state.get("cart", []), name]
    answer = ToolMessage(f"the cart has {len(cart)}", tool_call_id=runtime.tool_call_id)
    return Command(update={"cart": cart, "messages": [answer]})


class FakeModel(GenericFakeChatModel):
    """No language model: it says what it was given to say."""

    def bind_tools(self, _tools: object, **_: object) -> "FakeModel":
        """Accept tools."""
        return self


def call(name: str, number: int) -> AIMessage:
    """Return a model's wish to call the tool."""
    return AIMessage("", tool_calls=[{"name": "add_to_cart", "args": {"name": name}, "id": f"call-{number}"}])


model = FakeModel(messages=iter([call("tea", 1), AIMessage("Added."), call("pot", 2), AIMessage("Added.")]))

with Memory.open("sqlite://") as memory:
    agent = create_agent(model, [add_to_cart], state_schema=Cart, checkpointer=memory.checkpointer)
    config = {"configurable": {"thread_id": "shop"}}
    first = agent.invoke({"messages": [("user", "Add tea.")]}, config)
    print("after the first turn: ", first["cart"])
    second = agent.invoke({"messages": [("user", "And a pot.")]}, config)
    print("after the second turn:", second["cart"])
    assert (first["cart"], second["cart"]) == (["tea"], ["tea", "pot"])
    assert agent.get_state(config).values["cart"] == ["tea", "pot"]

print("What the tool set stayed with the thread.")
