"""`perdure threads` on real files with real graphs."""

import json
import operator
import os
import pty
import re
import subprocess
import sys
from datetime import datetime
from typing import Annotated, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt
from pydantic import BaseModel

from perdure import Memory
from perdure.cli import states
from perdure.cli.demo_model import StandInModel


def config(thread, **more):
    return {"configurable": {"thread_id": thread, **more}}


def talk(memory, thread, *said, **more):
    agent = create_agent(StandInModel(), checkpointer=memory.checkpointer)
    for text in said:
        agent.invoke({"messages": [("user", text)]}, config(thread, **more))
    return agent


def test_threads_are_listed_newest_first_and_page_by_page(run, memory, url):
    for number in range(5):
        talk(memory, f"t{number}", f"hello {number}")
    first = run("threads", "ls", "--db", url, "--limit", 2, "--json").json
    assert [thread["id"] for thread in first["data"]] == ["t4", "t3"]
    second = run("threads", "ls", "--db", url, "--limit", 2, "--json", "--cursor", first["next"]).json
    assert [thread["id"] for thread in second["data"]] == ["t2", "t1"]
    last = run("threads", "ls", "--db", url, "--limit", 2, "--json", "--cursor", second["next"]).json
    assert [thread["id"] for thread in last["data"]] == ["t0"]
    assert last["next"] is None


def test_threads_are_filtered(run, memory, url):
    talk(memory, "a", "about billing", subject_id="user-1")
    talk(memory, "b", "about shipping", subject_id="user-2")
    memory.threads.tag("b", add=["late"])
    for options, found in [
        (["--subject", "user-1"], ["a"]),
        (["--tag", "late"], ["b"]),
        (["--title", "BILLING"], ["a"]),
        (["--status", "idle"], ["b", "a"]),
        (["--status", "error"], []),
    ]:
        listed = run("threads", "ls", "--db", url, "--json", *options).data
        assert [thread["id"] for thread in listed] == found, options


def test_a_listing_for_people_has_a_head_and_says_how_to_go_on(run, memory, url):
    talk(memory, "a", "hello")
    talk(memory, "b", "你好")
    done = run("threads", "ls", "--db", url, "--limit", 1)
    head, row = done.out.splitlines()
    assert head.startswith("thread")
    assert row.startswith("b ")
    assert row.endswith("你好")
    assert "there is more: --cursor" in done.err


def test_a_tenant_sees_its_own_threads_only(run, url, memory):
    talk(memory.scope(tenant="acme"), "a", "hello")
    assert run("threads", "ls", "--db", url, "--json").data == []
    assert [t["id"] for t in run("threads", "ls", "--db", url, "--tenant", "acme", "--json").data] == ["a"]
    assert run("threads", "show", "a", "--db", url).code == 1


def test_a_conversation_is_shown_with_roles_tools_and_times(run, memory, url):
    calls = [{"name": "lookup", "args": {"q": "tea"}, "id": "1"}]
    graph = _noting(memory, [AIMessage("Let me see.", tool_calls=calls)])
    graph.invoke({"messages": [HumanMessage("line one\nline two")]}, config("a"))
    out = run("threads", "show", "a", "--db", url).out
    assert "1 turns · idle" in out
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  human   line one\n {29}line two$", out, re.MULTILINE)
    assert re.search(r'  ai      Let me see\.\n +calls lookup\(q="tea"\)', out)


def _noting(memory, answers):
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": answers})
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=memory.checkpointer)


def test_a_transcript_has_everything_that_was_said_and_marks_what_was_removed(run, memory, url):
    history = memory.history("a")
    asked = AIMessage("Let me see.", id="a1", tool_calls=[{"name": "lookup", "args": {"q": "tea"}, "id": "1"}])
    history.add_messages([HumanMessage("line one\nline two\u202e", id="h1"), asked])
    history.add_messages([RemoveMessage(id="h1"), ToolMessage("tea!", id="t1", tool_call_id="1", name="lookup")])
    out = run("threads", "transcript", "a", "--db", url).out
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    assert re.match(rf"{when}  removed  human   line one\n {{38}}line two\\u202e\n", out)
    assert re.search(rf'^{when}           ai      Let me see\.\n {{38}}calls lookup\(q="tea"\)$', out, re.MULTILINE)
    assert out.splitlines()[-1].endswith("           tool    lookup answered: tea!")
    data = run("threads", "transcript", "a", "--db", url, "--json", "--limit", 2).data
    assert [(one["message"]["id"], one["step"], one["present"]) for one in data] == [("a1", 0, True), ("t1", 1, True)]
    assert datetime.fromisoformat(data[0]["at"]).tzinfo is not None
    history.clear()
    assert run("threads", "transcript", "a", "--db", url).out.count("  removed  ") == 3
    refused = run("threads", "transcript", "a", "--db", url, "--limit", -1)
    assert (refused.code, refused.out) == (1, "")


class Prefs(BaseModel):
    style: str


class WithPrefs(MessagesState):
    prefs: Prefs


def test_a_state_of_classes_that_are_not_there_is_shown_anyway(program, memory, url):
    builder = StateGraph(WithPrefs)
    builder.add_node("n", lambda _: {"prefs": Prefs(style="brief"), "messages": [AIMessage("ok")]})
    builder.add_edge(START, "n")
    builder.compile(checkpointer=memory.checkpointer).invoke({"messages": [("user", "hi")]}, config("a"))
    memory.history("c").add_messages([ToolMessage("found", tool_call_id="1", artifact=Prefs(style="brief"))])
    assert "found" in program("threads", "transcript", "c", "--db", url).out
    for command in (["show", "a"], ["diff", "a"], ["history", "a"], ["fork", "a", "b"]):
        done = program("threads", *command, "--db", url)
        assert done.code == 0, done.err
        if command[0] in {"show", "diff"}:
            assert "test_threads:Prefs" in done.out
            assert "brief" in done.out
    again = Memory.open(url, types=[Prefs])
    with again:
        assert again.checkpointer.get_tuple(config("b")).checkpoint["channel_values"]["prefs"] == Prefs(style="brief")


def test_hidden_characters_are_shown_escaped_and_kept_exactly(run, memory, url):
    hidden = "pay \u202e001 to \u200bAda\U000e0041\x1b[31m"
    _noting(memory, [AIMessage(f"ok {hidden}")]).invoke({"messages": [("user", hidden)]}, config("a"))
    done = run("threads", "show", "a", "--db", url)
    assert r"pay \u202e001 to \u200bAda\U000e0041\x1b[31m" in done.out
    assert not set(done.out) & {"\u202e", "\u200b", "\U000e0041", "\x1b"}
    as_json = run("threads", "show", "a", "--db", url, "--json")
    assert not set(as_json.out) & {"\u202e", "\u200b", "\U000e0041", "\x1b"}
    assert as_json.data["values"]["messages"][0]["content"] == hidden


def test_an_earlier_checkpoint_is_shown(run, memory, url):
    talk(memory, "a", "one", "two")
    listed = run("threads", "history", "a", "--db", url, "--json").data
    oldest = listed[-2]["checkpoint_id"]
    for name in (oldest, f"-{len(listed) - 1}"):
        found = run("threads", "show", "a", "--db", url, "--json", "--checkpoint", name).data
        assert [message["content"] for message in found["values"]["messages"]] == ["one"]
        assert found["checkpoint"]["next"] == ["model"]


def _approving(memory):
    def ask(_):
        return {"messages": [AIMessage(interrupt("May I?"))]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=memory.checkpointer)


def test_an_interrupted_thread_says_what_it_waits_for(run, memory, url):
    _approving(memory).invoke({"messages": [("user", "hi")]}, config("a"))
    out = run("threads", "show", "a", "--db", url).out
    assert "waits for an answer to" in out
    assert "May I?" in out
    newest = run("threads", "history", "a", "--db", url, "--json").data[0]
    assert (newest["interrupted"], newest["next"]) == (True, ["ask"])


class Fan(TypedDict):
    found: Annotated[list, operator.add]


def _fan(memory):
    builder = StateGraph(Fan)
    builder.add_node("plan", lambda _: {"found": ["planned"]})
    for name in ("left", "right"):
        builder.add_node(name, lambda _, name=name: {"found": [name]})
    builder.add_node("work", lambda given: {"found": [given]})
    builder.add_node("join", lambda _: {"found": ["joined"]})
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "left")
    builder.add_edge("plan", "right")
    builder.add_edge(["left", "right"], "join")
    builder.add_conditional_edges("join", lambda _: [Send("work", n) for n in (1, 2)], ["work"])
    return builder.compile(checkpointer=memory.checkpointer)


def test_the_next_nodes_are_those_that_langgraph_names(run, memory, url):
    graph = _fan(memory)
    graph.invoke({"found": []}, config("a"))
    listed = run("threads", "history", "a", "--db", url, "--json").data
    known = [sorted(set(state.next)) for state in graph.get_state_history(config("a"))]
    assert [about["next"] for about in listed] == known
    assert ["join"] in known


def test_the_history_goes_on_where_it_ended_and_shows_subgraphs_when_asked(run, memory, url):
    inner = StateGraph(MessagesState)
    inner.add_node("deep", lambda _: {"messages": [AIMessage("deep")]})
    inner.add_edge(START, "deep")
    outer = StateGraph(MessagesState)
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_edge(START, "inner")
    outer.compile(checkpointer=memory.checkpointer).invoke({"messages": [("user", "hi")]}, config("a"))
    first = run("threads", "history", "a", "--db", url, "--json", "--limit", 2).json
    rest = run("threads", "history", "a", "--db", url, "--json", "--cursor", first["next"]).json
    assert [about["step"] for about in first["data"] + rest["data"]] == [1, 0, -1]
    every = run("threads", "history", "a", "--db", url, "--json", "--all").data
    assert {about["checkpoint_ns"] for about in every} == {"", "inner"}
    assert _paged(run, url, "--all") == every
    assert run("threads", "history", "a", "--all", "--cursor", "x", "--db", url).code == 1
    assert _paged(run, url, "--ns", "inner") == [about for about in every if about["checkpoint_ns"]]
    shown = run("threads", "show", "a", "--db", url, "--ns", "inner", "--json").data
    assert shown["checkpoint"]["checkpoint_ns"] == "inner"


def _paged(run, url, *options):
    found, cursor = [], []
    while True:
        page = run("threads", "history", "a", "--db", url, "--json", "--limit", 1, *options, *cursor).json
        found += page["data"]
        if page["next"] is None:
            return found
        cursor = ["--cursor", page["next"]]


def test_a_difference_is_told_by_sign(run, memory, url):
    talk(memory, "a", "one", "two")
    out = run("threads", "diff", "a", "--db", url).out
    assert out == "+ messages[3]  ai: I don't know.\n"
    found = run("threads", "diff", "a", "-4", "latest", "--db", url, "--json").data
    assert [(change["sign"], change["path"]) for change in found["changes"]] == [
        ("+", "messages[2]"),
        ("+", "messages[3]"),
    ]
    assert run("threads", "diff", "a", "-1", "latest", "--db", url).out == "no difference\n"
    assert "has no checkpoint '-99'" in run("threads", "diff", "a", "-99", "-1", "--db", url).err


def test_a_fork_begins_as_the_thread_was(run, memory, url):
    talk(memory, "a", "one", "two")
    done = run("threads", "fork", "a", "b", "--checkpoint", "-4", "--db", url, "--json")
    assert done.data["id"] == "b"
    shown = run("threads", "show", "b", "--db", url, "--json").data
    assert [message["content"] for message in shown["values"]["messages"]] == ["one", "I don't know."]
    again = run("threads", "fork", "a", "b", "--db", url, "--json")
    assert (again.code, again.json["error"]["code"]) == (1, "conflict")


def test_removing_asks_first_and_needs_a_yes_where_nobody_can_be_asked(run, program, memory, url):
    talk(memory, "a", "one")
    talk(memory, "b", "one")
    refused = program("threads", "rm", "a", "--db", url)
    assert (refused.code, "--yes" in refused.err) == (2, True)
    looked = run("threads", "rm", "a", "--db", url, "--dry-run", "--json")
    assert looked.data["dry_run"]
    assert memory.threads.get("a") is not None
    assert run("threads", "rm", "a", "nobody", "--db", url, "--yes").code == 1
    assert memory.threads.get("a") is not None
    assert run("threads", "rm", "a", "--db", url, "--yes").out == "removed: a (3 checkpoints)\n"
    assert memory.threads.get("a") is None
    assert memory.threads.get("b") is not None


@pytest.mark.parametrize(("answer", "code", "left"), [(b"y\n", 0, False), (b"n\n", 1, True)])
def test_a_person_at_a_terminal_is_asked(memory, url, answer, code, left):
    talk(memory, "a", "one")
    here, there = pty.openpty()
    command = [sys.executable, "-m", "perdure.cli", "threads", "rm", "a", "--db", url]
    with subprocess.Popen(command, stdin=there, stdout=subprocess.PIPE, stderr=there) as asked:
        os.write(here, answer)
        assert asked.wait(timeout=60) == code
    os.close(there)
    os.close(here)
    assert (memory.threads.get("a") is not None) is left


@pytest.mark.parametrize("command", [["show"], ["transcript"], ["history"], ["diff"], ["fork", "new"], ["rm", "--yes"]])
def test_a_thread_that_is_not_there_is_one_sentence(run, memory, url, command):
    done = run("threads", command[0], "nobody", *command[1:], "--db", url)
    assert (done.code, done.out) == (1, "")
    assert "there is no thread 'nobody'" in done.err
    assert done.err.count("\n") == 1


def test_looking_changes_nothing(run, memory, url):
    talk(memory, "a", "one", "two")
    memory.store.put(("a",), "k", {"x": 1}, ttl=1)
    before = _content(memory)
    for command in (
        ["threads", "ls"],
        ["threads", "show", "a"],
        ["threads", "history", "a"],
        ["threads", "transcript", "a"],
        ["threads", "diff", "a"],
        ["threads", "rm", "a", "--dry-run"],
        ["items", "ls"],
        ["items", "get", "a", "k"],
        ["items", "rm", "a", "k", "--dry-run"],
        ["stats"],
        ["stats", "--thread", "a"],
        ["doctor"],
    ):
        assert run(*command, "--db", url).code == 0, command
    assert _content(memory) == before


def _content(memory):
    dump = memory.engine._connection.execute("SELECT * FROM items").fetchall()
    dump += memory.engine._connection.execute("SELECT * FROM threads").fetchall()
    return dump


def test_times_of_messages_older_than_what_is_looked_at_are_left_out(memory):
    talk(memory, "a", "one", "two")
    listed = list(memory.checkpointer.list(config("a")))
    assert len(states.message_times(listed)) == 4
    assert len(states.message_times(listed[:2])) == 1
    assert json.dumps(states.message_times(listed))
