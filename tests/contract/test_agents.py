"""Real agents and graphs on the saver."""

from __future__ import annotations

import asyncio
import operator
import time
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from benchmarks import agents
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel
from tests.support import config, put, values_of

from perdure import Memory, errors


@pytest.mark.parametrize("shape", agents.SHAPES)
def test_what_an_agent_said_is_there_after_a_restart(shape, file_url, styled):
    with Memory.open(file_url) as memory:
        agent = styled(agents.build(shape, memory.checkpointer))
        for _ in range(3):
            live = agent.invoke(agents.human(), config("t1"))
        history = [found.values for found in agent.get_state_history(config("t1"))]
    with Memory.open(file_url) as memory:
        agent = styled(agents.build(shape, memory.checkpointer))
        assert agent.get_state(config("t1")).values == live
        assert [found.values for found in agent.get_state_history(config("t1"))] == history
        after = agent.invoke(agents.human(), config("t1"))
        assert after["messages"][: len(live["messages"])] == live["messages"]
        assert agent.get_state(config("t2")).values == {}


def test_a_message_changed_in_place_is_never_seen_by_another_read_nor_stored_again(memory, styled):
    agent = styled(agents.build("plain", memory.checkpointer))
    agent.invoke({"messages": [HumanMessage("first")]}, config("t1"))
    state = agent.get_state(config("t1"))
    message = state.values["messages"][0]
    message.content = "changed"
    message.additional_kwargs["note"] = "changed"
    assert agent.get_state(config("t1")).values["messages"][0].content == "first"
    assert agent.get_state(config("t1")).values["messages"][0].additional_kwargs == {}
    agent.invoke({"messages": [HumanMessage("second")]}, config("t1"))
    for found in agent.get_state_history(config("t1")):
        assert all(item.content != "changed" for item in found.values.get("messages", []))


def test_a_reader_can_not_reach_into_a_run_that_is_under_way(memory):
    """Somebody masks text for display while the run that holds the same messages goes on."""

    def look(_):
        for message in memory.checkpointer.get_tuple(config("t1")).checkpoint["channel_values"]["messages"]:
            message.content = message.content.replace("4111", "****")
        return {"messages": [AIMessage("seen", id="a1")]}

    builder = StateGraph(MessagesState)
    builder.add_node("look", look)
    builder.add_node("after", lambda state: {"messages": [AIMessage(state["messages"][0].text, id="a2")]})
    builder.add_edge(START, "look")
    builder.add_edge("look", "after")
    graph = builder.compile(checkpointer=memory.checkpointer)
    live = graph.invoke({"messages": [HumanMessage("card 4111", id="h1")]}, config("t1"), durability="sync")
    assert [message.text for message in live["messages"]] == ["card 4111", "seen", "card 4111"]
    assert graph.get_state(config("t1")).values == live


def test_two_readers_and_two_places_in_a_list_never_share_a_message(memory, saver):
    same = [HumanMessage("same"), HumanMessage("same")]
    where = put(saver, config(), {"messages": same})
    first, second = values_of(saver, where)["messages"], values_of(saver, where)["messages"]
    assert len({id(message) for message in [*first, *second]}) == 4
    run = config("t1", where["configurable"]["checkpoint_id"], __pregel_runtime=None)
    held = memory.checkpointer.get_tuple(run).checkpoint["channel_values"]["messages"]
    assert held[0] is not held[1]
    history = [found.checkpoint["channel_values"]["messages"] for found in saver.list(config())]
    assert history[0][0] is not first[0]


@pytest.mark.parametrize(("before", "after"), [(1, True), (True, 1), (1, 1.0), ("a", ["a"]), ((1,), [1])])
def test_a_change_to_an_equal_value_of_another_type_is_a_change(memory, saver, before, after):
    message = AIMessage("a", id="1", additional_kwargs={"n": before})
    first = put(saver, config(), {"messages": [message]})
    message.additional_kwargs["n"] = after
    later = put(saver, first, {"messages": [message]}, versions={"messages": 2}, step=1)
    memory.checkpointer._calls.caches.drop("default", "t1")
    found = values_of(saver, later)["messages"][0].additional_kwargs["n"]
    assert (found, type(found)) == (after, type(after))


def test_a_change_in_place_that_a_step_makes_is_seen_by_the_put_that_lists_the_channel(memory, saver):
    message = HumanMessage("first", id="m1")
    parent = put(saver, config(), {"messages": [message]})
    message.content = "edited by a node"
    edited = put(saver, parent, {"messages": [message]}, versions={"messages": 2}, step=1)
    assert values_of(saver, edited)["messages"][0].content == "edited by a node"
    assert values_of(saver, parent)["messages"][0].content == "first"


@pytest.mark.parametrize("moment", ["before the commit", "before it is kept"])
def test_a_change_while_a_step_is_being_stored_is_not_taken_for_stored(memory, moment, monkeypatch):
    """A reducer gives a message its id while the step before is saved in the background."""
    saver = memory.checkpointer
    said = [HumanMessage(f"{n}", id=f"m{n}") for n in range(3)]

    def change(*_):
        said[1].content = "changed meanwhile"

    calls = type(saver._calls)
    hooked = "_work" if moment == "before the commit" else "_keep"
    real = getattr(calls, hooked)
    monkeypatch.setattr(calls, hooked, lambda *given, **named: change() or real(*given, **named))
    first = put(saver, config(), {"messages": said})
    monkeypatch.setattr(calls, hooked, real)
    assert values_of(saver, first)["messages"][1].content == "1"
    later = put(saver, first, {"messages": said}, versions={"messages": 2}, step=1)
    saver._calls.caches.drop("default", "t1")
    assert values_of(saver, later)["messages"][1].content == "changed meanwhile"


def test_the_first_messages_of_a_thread_are_its_title_and_each_input_a_turn(memory, styled):
    agent = styled(agents.build("plain", memory.checkpointer))
    for text in ("My name is Ada.\nHello!", "again"):
        agent.invoke({"messages": [("human", text)]}, config("t1", subject_id="ada"))
    thread = memory.threads.get("t1")
    assert (thread.title, thread.turns, thread.subject, thread.status) == ("My name is Ada. Hello!", 2, "ada", "idle")
    assert thread.checkpoints == 6


class Answer(BaseModel):
    city: str
    degrees: float


class Structured(agents.InstantModel):
    """A fake that calls the tool of the response format."""

    def bind_tools(self, tools: Any, **given: Any) -> Structured:
        return self

    def _generate(self, messages, stop=None, run_manager=None, **given):
        found = super()._generate(messages)
        found.generations[0].message = AIMessage(
            "", tool_calls=[{"name": "Answer", "args": {"city": "Oslo", "degrees": 3.5}, "id": "c1"}]
        )
        return found


def test_a_structured_response_comes_back_as_its_type_once_it_is_registered(file_url, styled):
    def build(memory):
        return create_agent(Structured(), [], response_format=Answer, checkpointer=memory.checkpointer)

    with Memory.open(file_url) as memory:
        live = styled(build(memory)).invoke({"messages": [("human", "weather?")]}, config("t1"))
        assert live["structured_response"] == Answer(city="Oslo", degrees=3.5)
    with Memory.open(file_url) as memory:
        agent = build(memory)
        with pytest.raises(errors.UnknownTypeError, match=r"register") as caught:
            styled(agent).get_state(config("t1"))
        assert "'t1'" in str(caught.value)
        assert "Answer" in str(caught.value)
        memory.register(agent)
        assert styled(agent).get_state(config("t1")).values["structured_response"] == Answer(city="Oslo", degrees=3.5)
    with Memory.open(file_url, types=[Answer]) as memory:
        assert styled(build(memory)).invoke({"messages": [("human", "more")]}, config("t1"))["structured_response"]


@dataclass
class Point:
    x: int
    total: int = field(init=False, default=0)


def test_a_forgotten_type_is_an_error_that_says_how_to_register_it(file_url, styled):
    with Memory.open(file_url) as memory:
        put(styled(memory.checkpointer), config(), {"p": [Point(1)]})
    with Memory.open(file_url) as memory, pytest.raises(errors.UnknownTypeError, match="types=") as caught:
        styled(memory.checkpointer).get_tuple(config())
    assert "Point" in caught.value.tag
    with Memory.open(file_url, types=[Point]) as memory:
        assert values_of(styled(memory.checkpointer), config()) == {"p": [Point(1)]}


@pytest.mark.parametrize(
    "value", [{"p": "a\x00b"}, {"p": "a\ud83d"}, {"f": float("inf"), "g": -0.0}, {"deep": ({1, (2, 3)}, b"\xff")}]
)
def test_text_and_numbers_that_databases_stumble_over_come_back_unchanged(saver, value):
    where = put(saver, config(), {"v": value, "list": [value] * 3})
    saver.put_writes(where, [("v", value)], "task")
    found = saver.get_tuple(where)
    assert found.checkpoint["channel_values"] == {"v": value, "list": [value] * 3}
    assert found.pending_writes[0][2] == value


def test_a_value_that_can_not_be_kept_is_refused_with_its_path_before_anything_is_written(memory, saver):
    message = HumanMessage("a", id="1")
    tool = AIMessage("b", id="2", additional_kwargs={"call": print})
    with pytest.raises(errors.UnsupportedValueError) as caught:
        put(saver, config(), {"messages": [message, tool]})
    assert caught.value.path.startswith("$.messages[1].additional_kwargs")
    with pytest.raises(errors.UnsupportedValueError, match=r"\$\.files\.a"):
        put(saver, config(), {"files": {"a": lambda: None}})
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(errors.UnsupportedValueError, match="deep"):
        put(saver, config(), {"n": nested})
    assert memory.threads.list().threads == ()


def test_a_lone_secret_in_metadata_is_a_dictionary(saver, monkeypatch):
    monkeypatch.setenv("HOME", "the secret")
    given = {"lc": 1, "type": "secret", "id": ["HOME"]}
    message = HumanMessage("a", id="1", response_metadata=given, additional_kwargs={"x": given})
    where = put(saver, config(), {"messages": [message], "plain": given}, custom=given)
    found = saver.get_tuple(where)
    assert found.checkpoint["channel_values"] == {"messages": [message], "plain": given}
    assert found.metadata["custom"] == given


# Pauses, failures, parallel work


class Seen(TypedDict):
    seen: Annotated[list, operator.add]


def test_an_interrupt_waits_for_its_answer_in_a_new_process_worth_of_memory(file_url, styled):
    ran = []

    def build(memory):
        builder = StateGraph(Seen)
        builder.add_node("work", lambda _: ran.append("work") or {"seen": ["work"]})
        builder.add_node("ask", lambda _: {"seen": [interrupt({"question": "sure?"})]})
        builder.add_edge(START, "work")
        builder.add_edge("work", "ask")
        return styled(builder.compile(checkpointer=memory.checkpointer))

    with Memory.open(file_url) as memory:
        build(memory).invoke({"seen": []}, config("t1"))
    with Memory.open(file_url) as memory:
        graph = build(memory)
        state = graph.get_state(config("t1"))
        assert state.next == ("ask",)
        assert state.tasks[0].interrupts[0].value == {"question": "sure?"}
        assert memory.threads.list(status="interrupted").threads[0].id == "t1"
        assert graph.invoke(Command(resume="yes"), config("t1")) == {"seen": ["work", "yes"]}
    assert ran == ["work"]


def test_a_finished_parallel_node_is_not_run_again_after_the_other_failed(memory, styled):
    ran = []

    def fails(state):
        ran.append("fails")
        if ran.count("fails") == 1:
            time.sleep(0.1)
            raise ValueError("broken once")
        return {"seen": ["fails"]}

    builder = StateGraph(Seen)
    builder.add_node("works", lambda _: ran.append("works") or {"seen": ["works"]})
    builder.add_node("fails", fails)
    builder.add_edge(START, "works")
    builder.add_edge(START, "fails")
    graph = styled(builder.compile(checkpointer=memory.checkpointer))
    with pytest.raises(ValueError, match="broken once"):
        graph.invoke({"seen": []}, config("t1"))
    state = graph.get_state(config("t1"))
    assert [task.error for task in state.tasks if task.name == "fails"] == ["ValueError('broken once')"]
    assert memory.threads.get("t1").status == "error"
    assert sorted(graph.invoke(None, config("t1"))["seen"]) == ["fails", "works"]
    assert sorted(ran) == ["fails", "fails", "works"]
    assert memory.threads.get("t1").status == "idle"


def test_subgraphs_keep_apart_and_both_resume(file_url, styled):
    def build(memory):
        child = StateGraph(Seen)
        child.add_node("child", lambda _: {"seen": [f"child {interrupt('go?')}"]})
        child.add_edge(START, "child")
        parent = StateGraph(Seen)
        parent.add_node("sub", child.compile())
        parent.add_edge(START, "sub")
        return styled(parent.compile(checkpointer=memory.checkpointer))

    with Memory.open(file_url) as memory:
        build(memory).invoke({"seen": ["in"]}, config("t1"))
    with Memory.open(file_url) as memory:
        graph = build(memory)
        state = graph.get_state(config("t1"), subgraphs=True)
        inner = state.tasks[0].state
        assert inner.config["configurable"]["checkpoint_ns"].startswith("sub:")
        assert inner.next == ("child",)
        assert graph.invoke(Command(resume="on"), config("t1"))["seen"][-1] == "child on"
        history = graph.get_state_history(config("t1"))
        assert [found.metadata["step"] for found in history] == [1, 0, -1]


def test_replaying_a_subgraph_finds_the_checkpoint_it_had_then(memory, styled):
    calls = []
    child = StateGraph(Seen)
    child.add_node("child", lambda state: calls.append(len(state["seen"])) or {"seen": ["child"]})
    child.add_edge(START, "child")
    parent = StateGraph(Seen)
    parent.add_node("sub", child.compile(checkpointer=True))
    parent.add_edge(START, "sub")
    graph = styled(parent.compile(checkpointer=memory.checkpointer))
    for turn in range(3):
        graph.invoke({"seen": [f"turn {turn}"]}, config("t1"))
    before = len(calls)
    history = graph.get_state_history(config("t1"))
    at = [found for found in history if found.next == ("sub",)][1]
    replayed = graph.invoke(None, at.config)
    assert len(calls) == before + 1
    assert calls[-1] == calls[1], "the subgraph goes on from where it was in the second turn"
    assert replayed["seen"][: len(at.values["seen"])] == at.values["seen"]


def test_state_sent_to_many_nodes_comes_back_equal(memory, styled):
    builder = StateGraph(MessagesState)
    builder.add_node("one", lambda state: {"messages": [AIMessage(f"{len(state['messages'])}")]})
    builder.add_conditional_edges(START, lambda state: [Send("one", {**state, "extra": (1, {2})})] * 3)
    graph = styled(builder.compile(checkpointer=memory.checkpointer))
    live = graph.invoke(agents.human(), config("t1"))
    assert graph.get_state(config("t1")).values == live
    sends = memory.checkpointer.get_tuple(graph.get_state_history(config("t1"))[1].config)
    tasks = sends.checkpoint["channel_values"]["__pregel_tasks"]
    assert [task.arg["extra"] for task in tasks] == [(1, {2})] * 3
    assert tasks[0].arg["messages"] == live["messages"][:1]


@pytest.mark.parametrize("mode", ["values", "updates", "messages"])
def test_streaming_leaves_the_same_state_as_invoking(memory, styled, mode):
    graph = agents.build("tools", memory.checkpointer)

    async def drained():
        return [chunk async for chunk in graph.astream(agents.human(), config("a"), stream_mode=mode)]

    assert asyncio.run(drained())
    assert list(graph.stream(agents.human(), config("b"), stream_mode=mode))
    for thread in ("a", "b"):
        kinds = [message.type for message in graph.get_state(config(thread)).values["messages"]]
        assert kinds == ["human", "ai", "tool", "tool", "ai"]


def test_a_missing_optional_field_is_absent_and_not_none(memory, styled):
    class State(TypedDict, total=False):
        needed: str
        optional: str | None

    builder = StateGraph(State)
    builder.add_node("one", lambda _: {"needed": "yes"})
    builder.add_edge(START, "one")
    graph = styled(builder.compile(checkpointer=memory.checkpointer))
    graph.invoke({"needed": "no"}, config("t1"))
    assert graph.get_state(config("t1")).values == {"needed": "yes"}
    graph.update_state(config("t1"), {"optional": None})
    assert graph.get_state(config("t1")).values == {"needed": "yes", "optional": None}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability_mode_ends_in_the_same_state(memory, durability):
    graph = agents.build("tools", memory.checkpointer)
    for _ in range(2):
        live = graph.invoke(agents.human(), config("t1"), durability=durability)
    assert graph.get_state(config("t1")).values == live
    assert len(live["messages"]) == 10
    assert memory.threads.get("t1").status == "idle"
