"""The store as LangGraph itself hands it to tools and nodes, with the tenant of the run."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.tools import InjectedStore, ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.config import get_store
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from tests import inside

from perdure import Memory, errors


class Model(GenericFakeChatModel):
    """Says what it was told to say."""

    def bind_tools(self, tools, **options):
        return self


class State(TypedDict):
    found: list[str]


@tool
def remember(fact: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Remember a fact."""
    store.put(("facts", "user@example.com"), fact, {"fact": fact})
    return "kept"


@tool
def recall(runtime: ToolRuntime) -> str:
    """Recall every fact."""
    return ", ".join(item.value["fact"] for item in runtime.store.search(("facts",)))


@tool
async def aremember(fact: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Remember a fact."""
    await store.aput(("facts", "user@example.com"), fact, {"fact": fact})
    return "kept"


@tool
async def arecall(runtime: ToolRuntime) -> str:
    """Recall every fact."""
    return ", ".join(item.value["fact"] for item in await runtime.store.asearch(("facts",)))


def agent_of(memory, *calls):
    script = [
        AIMessage("", tool_calls=[{"name": name, "args": given, "id": f"c{at}"}])
        for at, (name, given) in enumerate(calls)
    ]
    model = Model(messages=iter([*script, AIMessage("done")]))
    tools = [remember, recall, aremember, arecall]
    return create_agent(model, tools, checkpointer=memory.checkpointer, store=memory.store)


def run(agent, style, thread, **scope):
    config = {"configurable": {"thread_id": thread, **scope}}
    given = {"messages": [("human", "go")]}
    state = agent.invoke(given, config) if style == "sync" else asyncio.run(agent.ainvoke(given, config))
    return [message.content for message in state["messages"] if message.type == "tool"]


@pytest.fixture(params=["sync", "async"])
def style(request):
    return request.param


@pytest.fixture
def names(style):
    return ("remember", "recall") if style == "sync" else ("aremember", "arecall")


def test_a_tool_keeps_in_one_thread_what_a_tool_finds_in_another(memory, style, names):
    put, get = names
    assert run(agent_of(memory, (put, {"fact": "likes tea"})), style, "a") == ["kept"]
    assert run(agent_of(memory, (get, {})), style, "b") == ["likes tea"]


def test_a_tool_reaches_only_the_tenant_of_its_run(memory, style, names):
    put, get = names
    run(agent_of(memory, (put, {"fact": "likes tea"})), style, "a", tenant_id="one", subject_id="u1")
    assert run(agent_of(memory, (get, {})), style, "b", tenant_id="one") == ["likes tea"]
    assert run(agent_of(memory, (get, {})), style, "b", tenant_id="two") == [""]
    assert run(agent_of(memory, (get, {})), style, "b") == [""]
    kept = inside.rows(memory, "SELECT tenant, subject, key FROM items")
    assert kept == [("one", "u1", "likes tea")]
    assert memory.store.search(()) == []
    assert memory.scope(tenant="one").store.count() == 1


def test_a_run_of_another_tenant_is_refused_by_a_view(memory):
    def node(state: State, runtime: Runtime) -> State:
        return {"found": [item.key for item in runtime.store.search(())]}

    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    compiled = graph.compile(store=memory.scope(tenant="one").store)
    assert compiled.invoke({"found": []}) == {"found": []}
    with pytest.raises(errors.InvalidIdError, match="two"):
        compiled.invoke({"found": []}, {"configurable": {"tenant_id": "two"}})


def test_a_run_that_names_no_tenant_is_refused_where_one_is_required(url):
    def node(state: State) -> State:
        return {"found": [item.key for item in get_store().search(())]}

    with Memory.open(url, tenants="required") as memory:
        graph = StateGraph(State)
        graph.add_node("node", node)
        graph.add_edge(START, "node")
        compiled = graph.compile(store=memory.store)
        with pytest.raises(errors.InvalidIdError, match="no tenant"):
            compiled.invoke({"found": []})
        assert compiled.invoke({"found": []}, {"configurable": {"tenant_id": "one"}}) == {"found": []}


def test_a_functional_workflow_and_its_tasks_share_the_store(memory):
    @task
    def keep(fact: str) -> None:
        get_store().put(("facts",), fact, {"fact": fact})

    @entrypoint(store=memory.store)
    def flow(facts: list[str]) -> int:
        for future in [keep(fact) for fact in facts]:
            future.result()
        return len(get_store().search(("facts",)))

    config = {"configurable": {"thread_id": "t", "tenant_id": "one"}}
    assert flow.invoke(["a", "b", "c"], config) == 3
    assert memory.scope(tenant="one").store.count() == 3


def test_the_tools_schema_shows_neither_store_nor_runtime():
    for shown in (remember, recall):
        assert not {"store", "runtime"} & set(shown.tool_call_schema.model_json_schema().get("properties", {}))
