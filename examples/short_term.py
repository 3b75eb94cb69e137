"""Short-term memory: a thread remembers what was said in it, and no other thread does."""

from langchain.agents import create_agent

from perdure import Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here

memory = Memory.open("sqlite://")  # for this process only; "sqlite:///agent.db" keeps it in a file
agent = create_agent(StandInModel(), checkpointer=memory.checkpointer)


def ask(thread: str, text: str) -> str:
    """Say something in a thread and return the answer."""
    answer = agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}})["messages"][-1].text
    print(f"{thread:8} {text:20} -> {answer}")
    return answer


ask("monday", "My name is Ada.")
assert ask("monday", "What is my name?") == "Your name is Ada."
assert ask("tuesday", "What is my name?") == "I don't know your name."
assert ask("monday", "Who am I?") == "Your name is Ada."  # changing threads has deleted nothing

assert [thread.id for thread in memory.threads.list().threads] == ["monday", "tuesday"]
memory.close()
print("Each thread knows what was said in it.")
