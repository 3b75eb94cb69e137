"""An interrupt: stop for a person's approval, end the process, and go on later where it stopped."""

import tempfile
from pathlib import Path
from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from perdure import Memory

drafted: list[str] = []


class Mail(TypedDict):
    """A mail to be sent."""

    text: str
    sent: bool


def draft(_: Mail) -> dict[str, str]:
    """Write the mail; this costs something, so it must happen once."""
    drafted.append("once")
    return {"text": "Dear Ada, …"}


def send(state: Mail) -> dict[str, bool]:
    """Send it, if a person agrees."""
    return {"sent": interrupt(f"Send {state['text']!r}?") == "yes"}


builder = StateGraph(Mail)
builder.add_node(draft)
builder.add_node(send)
builder.add_edge(START, "draft")
builder.add_edge("draft", "send")
config = {"configurable": {"thread_id": "mail-1"}}

with tempfile.TemporaryDirectory() as folder:
    url = f"sqlite:///{Path(folder) / 'agent.db'}"

    with Memory.open(url) as memory:
        stopped = builder.compile(checkpointer=memory.checkpointer).invoke({}, config)
        print("stopped, asking:", stopped["__interrupt__"][0].value)
        assert memory.threads.get("mail-1").status == "interrupted"

    # Here the process may end. This is what another one does, perhaps days later:
    with Memory.open(url) as memory:
        graph = builder.compile(checkpointer=memory.checkpointer)
        assert graph.get_state(config).next == ("send",)
        result = graph.invoke(Command(resume="yes"), config)
        print("resumed:", result)
        assert result == {"text": "Dear Ada, …", "sent": True}
        assert memory.threads.get("mail-1").status == "idle"

assert drafted == ["once"]  # what was finished did not run again
print("The run went on where it had stopped, and nothing ran twice.")
