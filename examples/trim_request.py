"""Show the model only what fits, while the thread keeps everything."""

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from perdure import Memory
from perdure.middleware import ContextBudget


class CountingModel(BaseChatModel):
    """A fake of a language model, which says how many messages it was shown."""

    @property
    def _llm_type(self) -> str:
        return "counting fake"

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        answer = AIMessage(f"I was shown {len(messages)}.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


memory = Memory.open("sqlite://")
config = {"configurable": {"thread_id": "a"}}

# At most two human turns, and at most so many tokens, whichever is less.
agent = create_agent(CountingModel(), middleware=[ContextBudget(1000, max_turns=2)], checkpointer=memory.checkpointer)
for text in ("one", "two", "three"):
    answer = agent.invoke({"messages": [("user", text)]}, config)["messages"][-1]
    print(f"{text}: {answer.text}")
assert answer.text == "I was shown 3."  # two turns, of which the last has no answer yet

stored = [message.text for message in agent.get_state(config).values["messages"]]
print("stored:", stored)
assert stored == ["one", "I was shown 1.", "two", "I was shown 3.", "three", "I was shown 3."]

# A message that is too long alone is sent as it is, and said so; or cut, if you ask for it.
small = create_agent(CountingModel(), middleware=[ContextBudget(100, oversize="cut")], checkpointer=memory.checkpointer)
for event in small.stream({"messages": [("user", "word " * 5000)]}, config, stream_mode="custom"):
    print("told:", event)
    assert event["tokens"] <= 100
assert len(agent.get_state(config).values["messages"][-2].text) == 25_000

memory.close()
print("The model saw less than the thread keeps.")
