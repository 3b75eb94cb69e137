"""One run of an agent with the real model, in a process of its own: what is asked goes in, what happened comes out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import get_buffer_string
from tests.engine import processes
from tests.llm import local

from perdure import Memory
from perdure.middleware import Compaction, Recall
from perdure.tools import memory_tools

PROGRAM = "from tests.llm import runs; say(runs.answered(url, rest[0]))"
STEPS = 12


@dataclass(frozen=True)
class User:
    user_id: str


@dataclass(frozen=True)
class Said:
    """What a run did: the answer, what each call showed the model, which tools it called, what the state holds."""

    answer: str
    shown: list[str]
    calls: list[dict[str, Any]]
    state: dict[str, Any] = field(repr=False)

    @property
    def whole(self) -> str:
        """All that the model was shown, as one text in lower case."""
        return "\n".join(self.shown).lower()


class Watching(BaseCallbackHandler):
    """Keeps what each model call was given."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def on_chat_model_start(self, _serialized: Any, messages: Any, **_: Any) -> None:
        self.shown.append(get_buffer_string(messages[0]))


def ask(url: str, address: str, said: Any, **given: Any) -> Said:
    """Run an agent in a new process. `given`: thread, user, system; tools, recall, compaction say what it has."""
    answer = processes.start(PROGRAM, url, json.dumps({"address": address, "said": said, **given})).end(timeout=600)
    return Said(**json.loads(answer))


def answered(url: str, task: str) -> str:
    """Do what `ask` asked for, and return what happened as JSON."""
    given = json.loads(task)
    watch = Watching()
    with Memory.open(url) as memory:
        agent = _agent(memory, given)
        config = {"configurable": {"thread_id": given["thread"]}, "callbacks": [watch], "recursion_limit": STEPS}
        said = given["said"]
        messages = [("user", said)] if isinstance(said, str) else [tuple(one) for one in said]
        before = len(agent.get_state(config).values.get("messages", ()))
        agent.invoke({"messages": messages}, config, context=User(given.get("user", "nobody")))
        values = agent.get_state(config).values
    new = values["messages"][before:]
    state = {"messages": [message.text for message in values["messages"]], "compaction": values.get("compaction")}
    calls = [{"name": call["name"], **call["args"]} for one in new for call in getattr(one, "tool_calls", ())]
    return json.dumps({"answer": new[-1].text, "shown": watch.shown, "calls": calls, "state": state})


def _agent(memory: Memory, given: dict[str, Any]) -> Any:
    middleware: list[Any] = [Recall(limit=2)] if given.get("recall") else []
    if options := given.get("compaction"):
        writer = local.model(given["address"], most=500)
        middleware.append(Compaction(writer, trigger=("messages", 20), keep=("turns", 2), **options))
    return create_agent(
        local.model(given["address"]),
        memory_tools(memory) if given.get("tools") else [],
        system_prompt=given["system"],
        middleware=middleware,
        checkpointer=memory.checkpointer,
        store=memory.store,
        context_schema=User,
    )
