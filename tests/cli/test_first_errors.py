"""The errors that a newcomer meets first: one sentence with the next step, from the library and on the command line."""

import subprocess
import sys
from pathlib import Path
from typing import TypedDict

import pytest
from langchain.agents import create_agent
from langgraph.graph import START, StateGraph
from pydantic import BaseModel

from perdure import Memory, errors
from perdure.cli.demo_model import StandInModel

HOLD = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def told(outcome, *words):
    """Assert that a command failed with one sentence on stderr, which holds these words."""
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith("Error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("agent.db", "sqlite:///agent.db"),
        ("mysql://host/agent", "sqlite:///agent.db"),
        ("sqlite:agent.db", "sqlite:///agent.db"),
        ("sqlite://agent.db", "sqlite:///agent.db"),
        ("postgresql+psycopg://host/db", "write postgresql://"),
        ("sqlite:///agent.db?wal=off", "timeout"),
        ("sqlite:///agent.db?timeout=soon", "seconds"),
    ],
)
def test_a_wrong_url_is_answered_with_the_right_one(run, wrong, advice):
    with pytest.raises(errors.ConfigurationError) as caught:
        Memory.open(wrong)
    assert advice in str(caught.value)
    told(run("threads", "ls", "--db", wrong), advice)


def test_no_url_at_all_is_answered_with_both_ways_to_give_one(run):
    told(run("threads", "ls"), "--db sqlite:///agent.db", "PERDURE_URL")


@pytest.mark.parametrize("place", ["agent.db", "no/such/folder/agent.db"])
def test_a_missing_database_is_one_sentence_and_makes_no_file(run, tmp_path, place):
    wrong = f"sqlite:///{tmp_path / place}"
    for command in (["threads", "ls"], ["items", "ls"], ["stats"], ["items", "put", "n", "k", "{}"]):
        told(run(*command, "--db", wrong), f"perdure setup --db {wrong}")
    assert run("doctor", "--db", wrong).code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_missing_thread_id_is_answered_with_where_to_put_it():
    with Memory.open("sqlite://") as memory:
        agent = create_agent(StandInModel(), checkpointer=memory.checkpointer)
        with pytest.raises(ValueError, match="thread_id"):  # LangGraph's own words
            agent.invoke({"messages": [("user", "hi")]})
        with pytest.raises(errors.MissingThreadIdError, match=r'config=\{"configurable": \{"thread_id"'):
            memory.checkpointer.get_tuple({"configurable": {}})


@pytest.mark.parametrize("thread", ['{"$gt": ""}', '["a"]', "1", "true"])
def test_odd_thread_ids_are_ids_like_any_other(run, memory, url, thread):
    told(run("threads", "show", thread, "--db", url), "there is no thread")


@pytest.mark.parametrize("thread", ["", "x" * 300, "a\nb"])
def test_impossible_thread_ids_are_refused(run, memory, url, thread):
    done = run("threads", "show", thread, "--db", url, "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "invalid_id")


@pytest.mark.parametrize("thread", [None, 1, True, ["a"], {"$gt": ""}, "", "x" * 300, "a\0b"])
def test_impossible_thread_ids_are_refused_by_the_library(thread):
    with Memory.open("sqlite://") as memory:
        with pytest.raises(errors.InvalidIdError):
            memory.threads.get(thread)
        with pytest.raises(errors.InvalidInputError):
            memory.checkpointer.get_tuple({"configurable": {"thread_id": thread}})


def test_a_folder_that_is_a_file_is_named(run, tmp_path):
    (tmp_path / "taken").write_text("not a folder")
    wrong = f"sqlite:///{tmp_path / 'taken' / 'agent.db'}"
    with pytest.raises(errors.DatabaseUnavailableError, match="taken"):
        Memory.open(wrong)
    told(run("setup", "--db", wrong), "taken")


def test_a_place_that_can_not_be_written_is_named(run):
    place = Path("/proc/agent.db")
    if not place.parent.is_dir():
        pytest.skip("needs a file system that nobody can write")
    with pytest.raises(errors.DatabaseUnavailableError, match="can't be written; check the rights"):
        Memory.open(f"sqlite:///{place}")
    told(run("setup", "--db", f"sqlite:///{place}"), "can't be written", "choose another place")


def test_a_folder_in_the_place_of_a_file_is_named(run, tmp_path):
    told(run("setup", "--db", f"sqlite:///{tmp_path}"), "is a folder; name a file in it")


def test_a_locked_file_is_answered_with_what_to_look_for(run, url):
    Memory.open(url).close()
    path = url.removeprefix("sqlite:///")
    command = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        told(
            run("items", "put", "n", "k", "{}", "--db", f"{url}?timeout=0.2"), "left a transaction open", "?timeout=60"
        )
        with (
            Memory.open(f"{url}?timeout=0.2") as memory,
            pytest.raises(errors.DatabaseLockedError, match="transaction"),
        ):
            memory.store.put(("n",), "k", {"x": 1})
        holder.stdin.close()
        holder.wait(timeout=30)
    assert run("items", "put", "n", "k", "{}", "--db", url).code == 0


class Prefs(BaseModel):
    style: str


class State(TypedDict):
    prefs: Prefs


def test_an_unregistered_class_is_answered_with_the_line_to_add(run, url):
    builder = StateGraph(State)
    builder.add_node("n", lambda _: {"prefs": Prefs(style="brief")})
    builder.add_edge(START, "n")
    config = {"configurable": {"thread_id": "a"}}
    with Memory.open(url) as memory:
        builder.compile(checkpointer=memory.checkpointer).invoke({}, config)
    with Memory.open(url) as memory, pytest.raises(errors.UnknownTypeError) as caught:
        memory.checkpointer.get_tuple(config)
    assert "thread 'a'" in str(caught.value)
    assert "types=[Prefs]" in str(caught.value)
    assert run("threads", "show", "a", "--db", url).code == 0


def test_a_value_that_can_not_be_kept_is_named_by_its_path():
    with Memory.open("sqlite://") as memory, pytest.raises(errors.UnsupportedValueError) as caught:
        memory.store.put(("n",), "k", {"tools": [print]})
    assert "$.tools[0]" in str(caught.value)


@pytest.mark.parametrize("content", [b"notes, no database\n" * 100, b"x"])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(run, tmp_path, url, content):
    path = tmp_path / "agent.db"
    path.write_bytes(content)
    with pytest.raises(errors.ForeignDatabaseError, match="Choose another file name"):
        Memory.open(url)
    for command in (["setup"], ["threads", "ls"]):
        told(run(*command, "--db", url), "left as it is", "Choose another file name")
    assert path.read_bytes() == content
