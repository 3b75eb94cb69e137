"""Time travel: look at every state a thread has had, run again from one, fork, and change a state by hand."""

from typing import TypedDict

from langgraph.graph import START, StateGraph

from perdure import Memory


class Story(TypedDict):
    """A subject and what became of it."""

    subject: str
    line: str


def choose(_: Story) -> dict[str, str]:
    """Choose what the line is about."""
    return {"subject": "rain"}


def write(state: Story) -> dict[str, str]:
    """Write the line."""
    return {"line": f"a line about {state['subject']}"}


builder = StateGraph(Story)
builder.add_node(choose)
builder.add_node(write)
builder.add_edge(START, "choose")
builder.add_edge("choose", "write")

with Memory.open("sqlite://") as memory:
    graph = builder.compile(checkpointer=memory.checkpointer)
    config = {"configurable": {"thread_id": "story"}}
    graph.invoke({}, config)

    history = list(graph.get_state_history(config))  # newest first
    for state in history:
        print(state.metadata["step"], state.metadata["source"], "next:", state.next, state.values)
    assert [state.next for state in history] == [(), ("write",), ("choose",), ("__start__",)]
    chosen = history[1]
    assert chosen.values == {"subject": "rain"}

    replayed = graph.invoke(None, chosen.config)  # run again what came after this state
    assert replayed["line"] == "a line about rain"

    changed = graph.update_state(chosen.config, {"subject": "snow"})  # a new state beside it
    forked = graph.invoke(None, changed)
    print("forked:", forked)
    assert forked["line"] == "a line about snow"
    assert graph.get_state(chosen.config).values == {"subject": "rain"}  # what was is still there

    copied = memory.threads.fork("story", "story-2", checkpoint_id=chosen.config["configurable"]["checkpoint_id"])
    assert graph.invoke(None, {"configurable": {"thread_id": copied.id}})["line"] == "a line about rain"
    assert graph.get_state(config).values["line"] == "a line about snow"

print("Every state is still there, and each can be gone on from.")
