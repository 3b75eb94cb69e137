"""Streaming: watch a run in any mode; what is kept is the same as after `invoke`."""

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool

from perdure import Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here


@tool
def remember(preference: str, runtime: ToolRuntime) -> str:
    """Keep a preference."""
    runtime.store.put(("preferences",), preference, {"text": preference})
    return "kept"


with Memory.open("sqlite://") as memory:
    agent = create_agent(StandInModel(), [remember], checkpointer=memory.checkpointer, store=memory.store)
    said = {"messages": [("user", "I prefer tea.")]}

    def texts(thread: str) -> list[str]:
        """Return what is kept of a thread."""
        return [message.text for message in agent.get_state({"configurable": {"thread_id": thread}}).values["messages"]]

    agent.invoke(said, {"configurable": {"thread_id": "invoke"}})
    for mode in ("values", "updates", "messages"):
        print(f"{mode}:")
        for part in agent.stream(said, {"configurable": {"thread_id": mode}}, stream_mode=mode):
            shown = part[0].text if mode == "messages" else list(part)
            print("  ", shown)
        assert texts(mode) == texts("invoke")
    assert texts("invoke") == ["I prefer tea.", "", "kept", "Noted: tea."]

print("Every mode left the same state behind.")
