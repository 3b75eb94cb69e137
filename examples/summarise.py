"""Let a summary stand for a conversation's beginning, and lose none of it."""

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from perdure import Memory
from perdure.middleware import Compaction, ContextBudget


class FakeModel(BaseChatModel):
    """No language model: it answers with what it was shown, and keeps a record when it is asked for one."""

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        if "<earlier_record>" in messages[0].text:  # the prompt of Compaction
            text = "## Confirmed facts\nThe user counts."
        else:
            text = f"I see {len(messages)} messages, the first says: {messages[0].text[:9]}…"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


model = FakeModel()
memory = Memory.open("sqlite://")
agent = create_agent(
    model,
    # After more than six messages a summary stands for all but the last two. Then the budget, for what is left.
    middleware=[Compaction(model, trigger=("messages", 7), keep=("messages", 2)), ContextBudget(4000)],
    checkpointer=memory.checkpointer,
)
config = {"configurable": {"thread_id": "count"}}

for number in range(1, 7):
    for event in agent.stream({"messages": [("user", f"This is {number}")]}, config, stream_mode=["custom", "values"]):
        if event[0] == "custom":
            print("told:", event[1])
    print(agent.get_state(config).values["messages"][-1].text)

state = agent.get_state(config).values
summary = state["compaction"]
print(f"{summary['count']} messages are summarised, by {summary['model']}: {summary['tokens']} tokens")
assert len(state["messages"]) == 12  # nothing has gone
assert [said.message.text for said in memory.history("count").transcript()][::2][0] == "This is 1"

# Take the summary away, and the model sees everything again.
agent.update_state(config, {"compaction": None})
plain = create_agent(model, checkpointer=memory.checkpointer)
answer = plain.invoke({"messages": [("user", "And now?")]}, config)["messages"][-1].text
print(answer)
assert answer.startswith("I see 13 messages")

memory.close()
print("The model saw a summary, and people still read everything.")
