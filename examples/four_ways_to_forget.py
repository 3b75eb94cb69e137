"""Delete a thread, clear its messages, begin another one, trim the request: each does only its own."""

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from perdure import Memory

LAST = 3  # how many messages the model is shown


def answer(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Answer with the number of messages it is shown, which is not what the thread keeps."""
    shown = state["messages"][-LAST:]
    return {"messages": [AIMessage(f"I see {len(shown)}.")]}


builder = StateGraph(MessagesState)
builder.add_node(answer)
builder.add_edge(START, "answer")
memory = Memory.open("sqlite://")
graph = builder.compile(checkpointer=memory.checkpointer)


def say(thread: str, text: str) -> str:
    """Say something in a thread."""
    state = graph.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}})
    return str(state["messages"][-1].text)


def kept(thread: str) -> tuple[int, int, bool]:
    """Return how many messages a thread has, how many were ever said in it, and whether it is there."""
    history = memory.history(thread)
    found = len(history.messages), len(history.transcript()), memory.threads.get(thread) is not None
    print(f"  {thread}: {found[0]} in its state, {found[1]} ever said")
    return found


print("Trim the request: the model sees less, the thread keeps all.")
answers = [say("a", text) for text in ("one", "two", "three")]
assert answers == ["I see 1.", "I see 3.", "I see 3."]
assert kept("a") == (6, 6, True)

print("Another thread id: it begins with nothing, and the old thread has lost nothing.")
assert say("b", "hello") == "I see 1."
assert kept("b") == (2, 2, True)
assert kept("a") == (6, 6, True)

print("Clear: the present state has no messages; the thread and what was said in it are there.")
memory.history("a").clear()
assert kept("a") == (0, 6, True)
assert say("a", "again") == "I see 1."
assert kept("a") == (2, 8, True)

print("Delete: nothing is left of the thread; the other one stays.")
memory.threads.delete("a")
assert kept("a") == (0, 0, False)
assert kept("b") == (2, 2, True)

memory.close()
print("Four ways to forget, and each forgot only its own.")
