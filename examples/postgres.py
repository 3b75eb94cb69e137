"""PostgreSQL: what one process was told, another knows.

Give it the URL of a database: python examples/postgres.py postgresql://agent@localhost:5432/perdure
"""

import sys
import uuid

from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig

from perdure import Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here
from perdure.errors import CommitUnknownError

URL = sys.argv[1]
THREAD = f"thread {uuid.uuid4()}"


def ask(memory: Memory, text: str) -> str:
    """Say something in the thread. Each process has a memory and an agent of its own."""
    agent = create_agent(StandInModel(), checkpointer=memory.checkpointer, store=memory.store)
    config: RunnableConfig = {"configurable": {"thread_id": THREAD, "tenant_id": "acme"}}
    answer = agent.invoke({"messages": [("user", text)]}, config)["messages"][-1].text
    print(f"{text:20} -> {answer}")
    return answer


def keep(memory: Memory, key: str, text: str) -> None:
    """Put an item. Should the answer to the commit get lost, put it again: it is there once, whatever happened."""
    store = memory.scope(tenant="acme").store
    try:
        store.put(("preferences",), key, {"text": text})
    except CommitUnknownError:
        store.put(("preferences",), key, {"text": text})


# Two memories that share nothing but the database: two processes, or two machines.
with Memory.open(URL, tenants="required", pool={"max_size": 4}) as one, Memory.open(URL, tenants="required") as other:
    ask(one, "My name is Ada.")
    assert ask(other, "What is my name?") == "Your name is Ada."
    keep(one, "drink", "tea")
    found = other.scope(tenant="acme").store.get(("preferences",), "drink")
    assert found is not None
    assert found.value == {"text": "tea"}

    # Another tenant's thread of the same id is another thread; the server's own wall says so as well.
    assert other.scope(tenant="globex").threads.get(THREAD) is None
    one.scope(tenant="acme").threads.delete(THREAD)

print("What one process was told, the other knew.")
