"""Ask why a model did not know something."""

from langchain.agents import create_agent

from perdure import Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here
from perdure.middleware import ContextBudget, Ledger

memory = Memory.open("sqlite://")
agent = create_agent(
    StandInModel(),
    middleware=[ContextBudget(max_turns=1), Ledger()],  # Ledger last: it records what is left
    checkpointer=memory.checkpointer,
    store=memory.store,
)


def ask(thread: str, text: str) -> None:
    """Say something in a thread."""
    answer = agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}})["messages"][-1]
    print(f"{thread:8} {text:18} -> {answer.text}")


def why(thread: str, about: str) -> str:
    """Print why a thread's model did not know something."""
    found = memory.why(thread, about=about)
    print(f"  {found.cause}: {found.text}")
    return found.cause


ask("monday", "My name is Ada.")
ask("monday", "What is my name?")
assert why("monday", "Ada") == "trimmed"

ask("tuesday", "What is my name?")
assert why("tuesday", "Ada") == "other_thread"

memory.store.put(("facts",), "name", {"text": "The user's name is Grace."})
ask("tuesday", "Who am I?")
assert why("tuesday", "Grace") == "not_recalled"

memory.close()
print("Each time the cause had a name.")
