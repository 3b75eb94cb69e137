"""A profile per tenant: an agent searches what it knows of its customer for the question at hand, and of no other."""

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse, wrap_model_call
from langchain_core.runnables import RunnableConfig

from perdure import Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here
from perdure.middleware import Recall

memory = Memory.open("sqlite://", tenants="required", index={"embed": "local"})
PROFILES = {
    "acme": [
        "Invoices go to Ms. Weber in accounting.",
        "Their servers are in Frankfurt.",
        "They close at noon on Fridays.",
    ],
    "globex": ["Invoices are paid by credit card.", "Their servers are in Dublin.", "They speak French."],
}
for tenant, facts in PROFILES.items():
    for number, fact in enumerate(facts):
        memory.scope(tenant=tenant).store.put(("profile",), f"fact-{number}", {"text": fact})

shown: list[str] = []


@wrap_model_call
def watch(request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse[Any]]) -> ModelResponse[Any]:
    """Keep what the model is shown before the question: the one or two facts that it is about, as data."""
    memories = request.messages[-2].text
    known = [fact for facts in PROFILES.values() for fact in facts if fact in memories]
    shown[:] = sorted(known, key=memories.index)
    return handler(request)


agent = create_agent(
    StandInModel(),
    middleware=[Recall(("profile",), limit=2), watch],
    checkpointer=memory.checkpointer,
    store=memory.store,
)


def ask(tenant: str, question: str) -> str:
    """Ask for a tenant; return the fact that the model was shown first."""
    config: RunnableConfig = {"configurable": {"thread_id": "main", "tenant_id": tenant}}
    agent.invoke({"messages": [("user", question)]}, config)
    print(f"{tenant:7} {question:28} -> {shown}")
    assert set(shown) <= set(PROFILES[tenant])
    return shown[0]


assert ask("acme", "Who receives the bill?") == PROFILES["acme"][0]
assert ask("globex", "Who receives the bill?") == PROFILES["globex"][0]
assert ask("acme", "Where is the data hosted?") == PROFILES["acme"][1]
assert ask("globex", "Which language do they use?") == PROFILES["globex"][2]

memory.close()
print("Each question met the facts it was about, of its own customer only.")
