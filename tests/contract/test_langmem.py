"""LangMem's tools, unchanged, inside an agent that has our store."""

from __future__ import annotations

import json
import warnings

import pytest
from tests.callers import called
from tests.embedders import FakeEmbedder

from perdure import Memory

with warnings.catch_warnings():
    # trustcall, which langmem imports, takes Send from where LangGraph 1.0 no longer wants it taken from.
    warnings.filterwarnings("ignore", message="Importing Send from langgraph.constants is deprecated")
    from langmem import create_manage_memory_tool, create_search_memory_tool

SPACE = ("memories", "{user_id}")


@pytest.fixture(params=["memory", "postgres"])
def memory(request):
    url = request.getfixturevalue("memory_url" if request.param == "memory" else "application_url")
    with Memory.open(url, index={"embed": FakeEmbedder(), "dims": 8, "fields": ["content"]}) as opened:
        yield opened


@pytest.fixture(params=["sync", "async"])
def call(request, memory):
    """Let an agent call a tool for a user; return what the tool answered."""
    tools = [create_manage_memory_tool(SPACE), create_search_memory_tool(SPACE)]

    return lambda user, name, **given: called(
        memory, tools, name, given, style=request.param, thread_id=user, user_id=user
    )


def manage(call, user, **given):
    """Manage a memory; return its id."""
    return call(user, "manage_memory", **given).split()[-1]


def contents(call, user, query, **given):
    return [one["value"]["content"] for one in json.loads(call(user, "search_memory", query=query, **given))]


def test_a_memory_is_created_updated_found_by_meaning_and_deleted(call, memory):
    food = manage(call, "ada", content="Ada loves pizza")
    manage(call, "ada", content="Ada is a plumber")
    assert contents(call, "ada", "What to cook when she is hungry?") == ["Ada loves pizza", "Ada is a plumber"]
    assert manage(call, "ada", action="update", id=food, content="Ada has a puppy") == food
    assert contents(call, "ada", "a dog", limit=1) == ["Ada has a puppy"]
    assert contents(call, "ada", "a dog", filter={"content": "Ada is a plumber"}) == ["Ada is a plumber"]
    assert manage(call, "ada", action="delete", id=food) == food
    assert contents(call, "ada", "a dog") == ["Ada is a plumber"]
    assert memory.store.count(("memories", "ada")) == 1


def test_an_update_keeps_the_time_a_memory_was_made(call, memory):
    key = manage(call, "ada", content="Ada loves pizza")
    made = memory.store.get(("memories", "ada"), key)
    manage(call, "ada", action="update", id=key, content="Ada loves dinner")
    now = memory.store.get(("memories", "ada"), key)
    assert (now.created_at, now.version) == (made.created_at, 2)
    assert now.updated_at > made.updated_at


def test_each_user_has_a_namespace_that_is_theirs_alone(call, memory):
    users = ["ada", "ada@example.com", "Ada"]
    for user in users:
        manage(call, user, content=f"{user} loves pizza")
    for user in users:
        assert contents(call, user, "hungry") == [f"{user} loves pizza"]
    assert memory.store.namespace_counts() == {("memories", user): 1 for user in sorted(users)}


def test_chinese_memories_are_found_by_chinese_questions(call):
    manage(call, "李雷", content="我是一名水管工")
    manage(call, "李雷", content="我喜欢吃披萨")
    assert contents(call, "李雷", "我饿了") == ["我喜欢吃披萨", "我是一名水管工"]
