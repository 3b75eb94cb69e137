"""A subgraph under its parent's checkpointer: it stops and resumes with the parent, and begins anew at each call."""

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from perdure import Memory


def research(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Ask a person, in the middle of the subgraph."""
    source = interrupt("Which source may I use?")
    return {"messages": [AIMessage(f"{len(state['messages'])} message so far; {source} says: green.")]}


inner = StateGraph(MessagesState)
inner.add_node(research)
inner.add_edge(START, "research")

outer = StateGraph(MessagesState)
outer.add_node("researcher", inner.compile())  # no checkpointer here: the parent's is used
outer.add_edge(START, "researcher")

with Memory.open("sqlite://") as memory:
    graph = outer.compile(checkpointer=memory.checkpointer)
    config = {"configurable": {"thread_id": "report"}}

    graph.invoke({"messages": [("user", "Which tea is best?")]}, config)
    stopped = graph.get_state(config, subgraphs=True)
    print("waits for:", stopped.interrupts[0].value)
    print("inside the subgraph, next is:", stopped.tasks[0].state.next)
    assert stopped.next == ("researcher",)
    assert stopped.tasks[0].state.next == ("research",)

    result = graph.invoke(Command(resume="the almanac"), config)
    print("answer:", result["messages"][-1].text)
    assert result["messages"][-1].text == "1 message so far; the almanac says: green."

    namespaces = [found.config["configurable"]["checkpoint_ns"] for found in memory.checkpointer.list(config)]
    assert {namespace.partition(":")[0] for namespace in namespaces} == {"", "researcher"}  # kept apart

print("The subgraph resumed inside its parent's thread.")
