"""Four different things: remove a message, remove them all, delete a thread, and begin another thread."""

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from perdure import Memory


def answer(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Answer with the number of messages it was given."""
    return {"messages": [AIMessage(f"I see {len(state['messages'])}.")]}


builder = StateGraph(MessagesState)
builder.add_node(answer)
builder.add_edge(START, "answer")
memory = Memory.open("sqlite://")
graph = builder.compile(checkpointer=memory.checkpointer)


def config(thread: str) -> dict[str, dict[str, str]]:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": thread}}


def texts(thread: str) -> list[str]:
    """Return what a thread's messages say."""
    return [message.text for message in graph.get_state(config(thread)).values.get("messages", [])]


for text in ("one", "two"):
    graph.invoke({"messages": [HumanMessage(text)]}, config("a"))
print("said:               ", texts("a"))

oldest = graph.get_state(config("a")).values["messages"][:2]
graph.update_state(config("a"), {"messages": [RemoveMessage(id=message.id) for message in oldest]})
print("two oldest removed: ", texts("a"))
assert texts("a") == ["two", "I see 3."]

question = graph.get_state(config("a")).values["messages"][0]
graph.update_state(config("a"), {"messages": [HumanMessage("Two!", id=question.id)]})
print("one changed by id:  ", texts("a"))
assert texts("a") == ["Two!", "I see 3."]  # in the place of the old one

graph.update_state(config("a"), {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("new")]})
print("all replaced:       ", texts("a"))
assert texts("a") == ["new"]
assert memory.threads.get("a") is not None  # the thread is still there, with its history

graph.invoke({"messages": [HumanMessage("hello")]}, config("b"))  # another thread: nothing is deleted
assert (texts("a"), texts("b")) == (["new"], ["hello", "I see 1."])

memory.threads.delete("a")
print("thread deleted:     ", texts("a"))
assert (texts("a"), texts("b")) == ([], ["hello", "I see 1."])

memory.close()
print("Four different things, each doing only its own.")
