"""Who is asking: the run's context, in tools and middleware, a dataclass or a dict; and a clear error without it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse, wrap_model_call
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from perdure import Memory, errors
from perdure.middleware import Recall


class FakeModel(GenericFakeChatModel):
    """No language model: it says what it was given to say."""

    def bind_tools(self, _tools: object, **_: object) -> "FakeModel":
        """Accept tools."""
        return self


@dataclass(frozen=True)
class User:
    """A context that can't be changed while a run goes on."""

    user_id: str


class UserDict(TypedDict):
    """The same as a dict."""

    user_id: str


@tool
def favourite(runtime: ToolRuntime[User]) -> str:
    """Look up the user's favourite dish."""
    item = runtime.store.get(("memories", runtime.context.user_id), "dish")
    return item.value["text"] if item else "unknown"


seen: list[Any] = []


@wrap_model_call
def watch(request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
    """Note whose run this is: middleware has the same runtime."""
    seen.append(request.runtime.context)
    return handler(request)


def agent(schema: type, *tools: Any) -> Any:
    """Return an agent whose model calls the tool, if there is one, and then ends."""
    wish = AIMessage("", tool_calls=[{"name": "favourite", "args": {}, "id": "call-1"}])
    model = FakeModel(messages=iter([wish, AIMessage("Done.")] if tools else [AIMessage("Done.")]))
    return create_agent(model, tools, middleware=[Recall(), watch], context_schema=schema, store=memory.store)


with Memory.open("sqlite://") as memory:
    memory.store.put(("memories", "ada"), "dish", {"text": "ramen"})
    asked = {"messages": [("user", "What do I like best?")]}

    state = agent(User, favourite).invoke(asked, context=User(user_id="ada"))
    print("the tool found:", state["messages"][-2].text)
    assert state["messages"][-2].text == "ramen"
    agent(UserDict).invoke(asked, context={"user_id": "bob"})
    print("middleware saw:", seen)
    assert seen == [User("ada"), User("ada"), {"user_id": "bob"}]

    try:
        agent(User).invoke(asked)  # nobody said who is asking
    except errors.MissingContextError as error:
        print("refused:", error)
    assert len(seen) == 3  # the model was not asked

print("Every part knew whose run it was, and without that nothing ran.")
