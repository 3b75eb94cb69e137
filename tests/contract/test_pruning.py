"""Removing checkpoints leaves what remains whole."""

from __future__ import annotations

import operator
from typing import Annotated, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from tests import inside
from tests.support import config, put, values_of

from perdure import Memory, errors


def entries(memory):
    return inside.value(memory, "SELECT count(*) FROM entries")


def long(text):
    return f"{text} " * 200


def test_pruning_to_the_latest_keeps_its_state_and_frees_what_only_older_ones_had(memory, saver):
    parent = config()
    for step in range(10):
        parent = put(
            saver, parent, {"last": long(step), "kept": long("same")}, versions={"last": step, "kept": 1}, step=step
        )
    before = entries(memory)
    saver.prune(["t1"])
    assert values_of(saver, config()) == {"last": long(9), "kept": long("same")}
    assert len(saver.list(config())) == 1
    assert saver.get_tuple(config()).parent_config is None
    assert (before, entries(memory)) == (11, 2)
    thread = memory.threads.get("t1")
    assert thread.checkpoints == 1
    next_one = put(saver, parent, {"last": "next", "kept": long("same")}, versions={"last": 11, "kept": 1}, step=11)
    assert values_of(saver, next_one)["kept"] == long("same")


def test_another_memory_that_knew_pruned_entries_does_not_point_to_them(file_url):
    with Memory.open(file_url) as one, Memory.open(file_url) as two:
        first = put(one.checkpointer, config(), {"a": long("a"), "b": long("b")})
        assert values_of(two.checkpointer, config())["a"] == long("a")
        head = put(one.checkpointer, first, {"b": long("b")}, versions={"b": 2}, step=1)
        assert values_of(two.checkpointer, head) == {"b": long("b")}
        one.checkpointer.prune(["t1"])
        # The second memory still has the entry of "a" in its cache; it is gone from the database.
        again = put(two.checkpointer, head, {"a": long("a"), "b": long("b")}, versions={"a": 3, "b": 2}, step=2)
        assert values_of(one.checkpointer, again) == {"a": long("a"), "b": long("b")}
        with Memory.open(file_url) as three:
            assert values_of(three.checkpointer, again) == {"a": long("a"), "b": long("b")}


def test_deleting_runs_gives_survivors_the_nearest_ancestor_that_is_left(saver):
    one = put(saver, config(), {"n": 1}, step=0, run_id="r1")
    two = put(saver, one, {"n": 2}, versions={"n": 2}, step=1, run_id="r2")
    three = put(saver, two, {"n": 3}, versions={"n": 3}, step=2, run_id="r3")
    saver.delete_for_runs(["r2"])
    found = saver.get_tuple(three)
    assert found.parent_config["configurable"]["checkpoint_id"] == one["configurable"]["checkpoint_id"]
    saver.delete_for_runs(["r1", "r3"])
    assert saver.get_tuple(config()) is None


@pytest.mark.parametrize("strategy", ["everything", "", None])
def test_an_unknown_strategy_is_refused_before_anything_is_removed(saver, strategy):
    put(saver, config(), {"n": 1})
    with pytest.raises(errors.InvalidInputError, match="keep_latest"):
        saver.prune(["t1"], strategy=strategy)
    assert values_of(saver, config()) == {"n": 1}


class Numbers(TypedDict):
    seen: Annotated[list, operator.add]


def test_a_pause_survives_pruning_and_every_node_runs_once(memory, styled):
    ran = []

    def before(state):
        ran.append("before")
        return {"seen": ["before"]}

    def ask(state):
        ran.append("ask")
        return {"seen": [interrupt("go on?")]}

    builder = StateGraph(Numbers)
    builder.add_node("before", before)
    builder.add_node("ask", ask)
    builder.add_edge(START, "before")
    builder.add_edge("before", "ask")
    graph = styled(builder.compile(checkpointer=memory.checkpointer))
    graph.invoke({"seen": []}, config("t1"))
    assert memory.threads.get("t1").status == "interrupted"
    styled(memory.checkpointer).prune(["t1"])
    assert graph.invoke(Command(resume="yes"), config("t1")) == {"seen": ["before", "yes"]}
    assert ran == ["before", "ask", "ask"], "a node that interrupts begins again; the finished one does not"
    assert memory.threads.get("t1").status == "idle"


def add(state, writes):
    return state + [item for write in writes for item in write]


class Delta(TypedDict):
    seen: Annotated[list, DeltaChannel(add)]


def delta_graph(memory):
    builder = StateGraph(Delta)
    builder.add_node("one", lambda state: {"seen": [f"answer {len(state['seen'])}"]})
    builder.add_edge(START, "one")
    builder.add_edge("one", END)
    return builder.compile(checkpointer=memory.checkpointer)


@pytest.mark.parametrize("prune", [False, True])
def test_a_channel_kept_as_writes_is_rebuilt_also_after_pruning(memory, styled, prune):
    graph = styled(delta_graph(memory))
    for turn in range(5):
        live = graph.invoke({"seen": [f"turn {turn}"]}, config("t1"))
        if prune:
            styled(memory.checkpointer).prune(["t1"])
    assert len(live["seen"]) == 10
    assert graph.get_state(config("t1")).values == live
    with_fresh_cache = type(memory)(memory.checkpointer._calls)
    assert delta_graph(with_fresh_cache).get_state(config("t1")).values == live


@pytest.mark.parametrize("kind", [Numbers, Delta], ids=["plain", "delta"])
def test_a_fork_from_the_first_turn_reads_back_as_the_live_state(memory, styled, kind):
    builder = StateGraph(kind)
    builder.add_node("one", lambda state: {"seen": [f"answer {len(state['seen'])}"]})
    builder.add_edge(START, "one")
    graph = styled(builder.compile(checkpointer=memory.checkpointer))
    for turn in range(3):
        graph.invoke({"seen": [f"turn {turn}"]}, config("t1"))
    history = graph.get_state_history(config("t1"))
    first = next(found for found in reversed(history) if len(found.values["seen"]) == 2 and not found.next)
    live = graph.invoke({"seen": ["fork"]}, first.config)
    assert live["seen"] == ["turn 0", "answer 1", "fork", "answer 3"]
    assert graph.get_state(config("t1")).values == live
    assert memory.threads.get("t1").status == "idle", "a fork that was asked for is no conflict"


def test_a_copied_state_equals_its_source_also_after_a_prune(memory, styled):
    builder = StateGraph(Numbers)
    builder.add_node("one", lambda state: {"seen": [long(len(state["seen"]))]})
    builder.add_edge(START, "one")
    graph = styled(builder.compile(checkpointer=memory.checkpointer))
    source = graph.invoke({"seen": [long("a")]}, config("t1"))
    for _ in range(2):
        copied = graph.update_state(config("t1"), None, as_node="__copy__")
        assert graph.get_state(copied).values == source
        styled(memory.checkpointer).prune(["t1"])
        assert graph.get_state(config("t1")).values == source


def test_a_conflict_marks_the_thread_as_forked_and_loses_nothing(memory, saver):
    first = put(saver, config(), {"n": [1]})
    a = put(saver, first, {"n": [1, "a"]}, versions={"n": 2}, step=1)
    assert memory.threads.get("t1").status == "idle"
    b = put(saver, first, {"n": [1, "b"]}, versions={"n": 2}, step=1)
    assert memory.threads.get("t1").status == "forked"
    assert values_of(saver, a) == {"n": [1, "a"]}
    assert values_of(saver, b) == values_of(saver, config()) == {"n": [1, "b"]}


def test_messages_that_are_removed_or_replaced_leave_the_rest_in_place(memory, saver):
    messages = [HumanMessage(long(n), id=f"m{n}") if n % 2 else AIMessage(long(n), id=f"m{n}") for n in range(40)]
    parent = put(saver, config(), {"messages": messages})
    kept = messages[:7] + messages[9:20] + [AIMessage("changed", id="m20")] + messages[21:]
    later = put(saver, parent, {"messages": kept}, versions={"messages": 2}, step=1)
    assert values_of(saver, later) == {"messages": kept}
    assert values_of(saver, parent) == {"messages": messages}
    assert entries(memory) == 41
    emptied = put(saver, later, {"messages": []}, versions={"messages": 3}, step=2)
    assert values_of(saver, emptied) == {"messages": []}
