"""Show the model only the last messages, while the thread keeps them all."""

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse, wrap_model_call
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, trim_messages
from langchain_core.outputs import ChatGeneration, ChatResult

from perdure import Memory


class CountingModel(BaseChatModel):
    """A fake of a language model, which says how many messages it was shown."""

    @property
    def _llm_type(self) -> str:
        return "counting fake"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        answer = AIMessage(f"I was shown {len(messages)}.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


@wrap_model_call
def last_three(request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
    """Cut this request to three messages that begin with a human one; the state stays as it is."""
    shown = trim_messages(request.messages, max_tokens=3, token_counter=len, start_on="human")
    return handler(request.override(messages=shown))


memory = Memory.open("sqlite://")
agent = create_agent(CountingModel(), middleware=[last_three], checkpointer=memory.checkpointer)
config = {"configurable": {"thread_id": "a"}}

for text in ("one", "two", "three"):
    answer = agent.invoke({"messages": [HumanMessage(text)]}, config)["messages"][-1]
    print(f"{text}: {answer.text}")

stored = agent.get_state(config).values["messages"]
print("stored:", [message.text for message in stored])
assert [message.text for message in stored[::2]] == ["one", "two", "three"]
assert stored[-1].text == "I was shown 3."

# Removing from the state is another thing: what is removed is not in the thread's present state any more.
agent.update_state(config, {"messages": [RemoveMessage(id=message.id) for message in stored[:2]]})
assert len(agent.get_state(config).values["messages"]) == 4
memory.close()
print("The model saw less than the thread keeps.")
