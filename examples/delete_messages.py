"""Remove and replace messages of the state, so that what is left is still a conversation."""

from langchain.agents import create_agent
from langchain.agents.middleware import after_agent
from langchain_core.messages import AIMessage, HumanMessage

from perdure import Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here
from perdure.errors import InvalidConversationError
from perdure.middleware import remove, remove_all, replace, replace_all, validate

memory = Memory.open("sqlite://")
agent = create_agent(StandInModel(), checkpointer=memory.checkpointer)
config = {"configurable": {"thread_id": "a"}}


def messages() -> list:
    """Return the messages of the thread's present state."""
    return agent.get_state(config).values["messages"]


def change(what: str, update: list) -> list[str]:
    """Change the state's messages, and show what is left of them."""
    agent.update_state(config, {"messages": update})
    left = [message.text for message in messages()]
    print(f"{what:20} {left}")
    assert validate(messages()) == []
    return left


for text in ("My name is Ada.", "I prefer tea.", "What is my name?"):
    agent.invoke({"messages": [("user", text)]}, config)

assert change("two oldest removed:", remove(messages(), messages()[:2]))[0] == "I prefer tea."
# Without the question its answer would come first, and no provider takes that: it goes too.
assert change("a question removed:", remove(messages(), messages()[:1])) == ["What is my name?", "Your name is Ada."]

better = messages()[0].model_copy(update={"content": "Who am I?"})
assert change("one changed by id:", replace(messages(), better))[0] == "Who am I?"  # in the place of the old one
assert change("all replaced:", replace_all([HumanMessage("Hello"), AIMessage("Hello!")])) == ["Hello", "Hello!"]
assert change("all removed:", remove_all()) == []

try:
    replace_all([AIMessage("An answer to nothing")])
except InvalidConversationError as error:
    print("refused:", error)
else:
    raise AssertionError


@after_agent
def forget(state: dict, _runtime: object) -> dict | None:
    """Remove the two oldest messages after each answer, once there are more than four."""
    held = state["messages"]
    return {"messages": remove(held, held[:2])} if len(held) > 4 else None


agent = create_agent(StandInModel(), middleware=[forget], checkpointer=memory.checkpointer)
config = {"configurable": {"thread_id": "b"}}
for text in ("My name is Ada.", "Who am I?", "I prefer tea.", "Who am I?"):
    agent.invoke({"messages": [("user", text)]}, config)
print("the last four:      ", [message.text for message in messages()])
assert [message.text for message in messages()][::2] == ["I prefer tea.", "Who am I?"]

# What was removed is in the thread's earlier checkpoints, and people can read it.
assert memory.history("b").transcript()[0].message.text == "My name is Ada."
memory.close()
print("What was left was a conversation each time.")
