"""One compiled graph for many tenants: each run says whose it is, and no tenant sees another's data."""

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.runnables import RunnableConfig

from perdure import Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here
from perdure.errors import InvalidIdError


@tool
def remember(preference: str, runtime: ToolRuntime) -> str:
    """Keep a preference."""
    runtime.store.put(("preferences",), "drink", {"text": preference})
    return "kept"


@tool
def recall(runtime: ToolRuntime) -> str:
    """Return the preference that was kept; nothing if there is none."""
    found = runtime.store.get(("preferences",), "drink")
    return found.value["text"] if found else ""


memory = Memory.open("sqlite://", tenants="required")  # a run that names no tenant is an error
agent = create_agent(StandInModel(), [remember, recall], checkpointer=memory.checkpointer, store=memory.store)


def ask(tenant: str, text: str) -> str:
    """Say something for a tenant, always in a thread of the same name."""
    config: RunnableConfig = {"configurable": {"thread_id": "main", "tenant_id": tenant}}
    answer = agent.invoke({"messages": [("user", text)]}, config)["messages"][-1].text
    print(f"{tenant:7} {text:18} -> {answer}")
    return answer


ask("acme", "I prefer tea.")
ask("globex", "I prefer coffee.")
assert ask("acme", "What do I prefer?") == "You prefer tea."
assert ask("globex", "What do I prefer?") == "You prefer coffee."
assert ask("initech", "What do I prefer?") == "I don't know what you prefer."

acme = memory.scope(tenant="acme")  # a view for programs: what it lists and reads is one tenant's
assert [thread.turns for thread in acme.threads.list().threads] == [2]
assert [item.value["text"] for item in acme.store.search(("preferences",))] == ["tea"]

try:
    agent.invoke({"messages": [("user", "Hello")]}, {"configurable": {"thread_id": "main"}})
except InvalidIdError as error:
    print("refused:", error)
else:
    raise AssertionError

memory.close()
print("Each tenant found its own data and nobody else's.")
