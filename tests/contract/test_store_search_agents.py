"""Searches by the tools of an agent: the store comes from the run, in either style and in any event loop."""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain.tools import ToolRuntime, tool
from langgraph.config import get_store
from tests.callers import called
from tests.embedders import FakeEmbedder

from perdure import Memory

SPACE = ("facts", "user@example.com")


@tool
def keep(key: str, text: str, runtime: ToolRuntime, hidden: bool = False) -> str:
    """Keep a fact."""
    runtime.store.put(SPACE, key, {"text": text}, index=False if hidden else None)
    return "kept"


@tool
def find(question: str, limit: int = 10) -> str:
    """Find what answers a question."""
    return json.dumps([(item.key, item.score) for item in get_store().search(SPACE, query=question, limit=limit)])


@tool
async def akeep(key: str, text: str, runtime: ToolRuntime, hidden: bool = False) -> str:
    """Keep a fact."""
    await runtime.store.aput(SPACE, key, {"text": text}, index=False if hidden else None)
    return "kept"


@tool
async def afind(question: str, limit: int = 10) -> str:
    """Find what answers a question."""
    found = await get_store().asearch(SPACE, query=question, limit=limit)
    return json.dumps([(item.key, item.score) for item in found])


@pytest.fixture
def indexed(url):
    with Memory.open(url, index={"embed": FakeEmbedder(), "dims": 8}) as opened:
        yield opened


@pytest.fixture(params=["sync", "async"])
def call(request, indexed):
    """Let an agent call a tool."""

    def one(name, tenant="default", **given):
        named = name if request.param == "sync" else f"a{name}"
        return called(indexed, [keep, find, akeep, afind], named, given, style=request.param, tenant_id=tenant)

    return one


def keys(answer):
    return [key for key, _ in json.loads(answer)]


def test_a_tool_finds_by_meaning_what_a_tool_has_kept(call):
    call("keep", key="job", text="I am a plumber")
    call("keep", key="food", text="I love pizza")
    found = json.loads(call("find", question="I'm hungry"))
    assert [key for key, _ in found] == ["food", "job"]
    assert found[0][1] > found[1][1]
    assert keys(call("find", question="我饿了", limit=1)) == ["food"]


def test_a_tool_finds_only_what_its_tenant_has_kept(call):
    for tenant in ("acme", "globex"):
        call("keep", tenant, key=tenant, text="I love pizza")
    for tenant in ("acme", "globex"):
        assert keys(call("find", tenant, question="hungry")) == [tenant]
    assert keys(call("find", question="hungry")) == []


def test_a_tool_does_not_find_what_was_kept_from_the_index(call, indexed):
    call("keep", key="hidden", text="I love pizza", hidden=True)
    call("keep", key="shown", text="I am a plumber")
    assert keys(call("find", question="pizza")) == ["shown"]
    assert indexed.store.get(SPACE, "hidden").value == {"text": "I love pizza"}
    assert [item.key for item in indexed.store.search(SPACE, filter={"text": "I love pizza"})] == ["hidden"]


def test_what_one_event_loop_has_kept_another_finds(indexed):
    async def visit(key):
        await indexed.store.aput(SPACE, key, {"text": f"{key} pizza"})
        return sorted(item.key for item in await indexed.store.asearch(SPACE, query="hungry"))

    assert asyncio.run(visit("a")) == ["a"]
    assert asyncio.run(visit("b")) == ["a", "b"]
    assert sorted(item.key for item in indexed.store.search(SPACE, query="hungry")) == ["a", "b"]
