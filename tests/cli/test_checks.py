"""`perdure threads check`."""

import io
import sys

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from tests.shapes import deployed
from tests.support import config, put

from perdure.core import threads

MODULE = """
from dataclasses import dataclass

@dataclass
class Profile:
    name: str

def louder(state):
    return {**state, "word": state["word"].upper()}

MIGRATIONS = {1: louder}
"""


@pytest.fixture
def app(tmp_path, monkeypatch):
    """A program beside the command line: its classes and its migrations."""
    (tmp_path / "checked_app.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__("checked_app")
    sys.modules.pop("checked_app")


def damage(memory, thread):
    memory.engine._connection.execute(
        "UPDATE checkpoints SET payload = zeroblob(40) WHERE generation = "
        "(SELECT generation FROM threads WHERE thread = ?)",
        (thread,),
    )


def test_every_thread_is_counted_by_the_version_of_its_newest_state(run, memory, url, monkeypatch):
    monkeypatch.setattr(threads, "LARGEST_PAGE", 2)
    for n in range(5):
        put(memory.checkpointer, config(f"old{n}"), {"n": 1})
    for n in range(2):
        first = put(memory.checkpointer, config(f"new{n}"), {"n": 1})
        put(deployed(memory, 3).checkpointer, first, {"n": 1})
    put(memory.scope(tenant="acme").checkpointer, config("elsewhere"), {"n": 1})
    data = run("threads", "check", "--db", url, "--json").data
    assert (data["threads"], data["versions"], data["unreadable"], data["problems"]) == (7, {"1": 5, "3": 2}, 0, [])
    assert data["migrations_needed"] == []
    wanted = run("threads", "check", "--schema-version", "3", "--db", url)
    assert (wanted.code, wanted.err) == (0, "")
    assert wanted.out.splitlines() == [
        "7 threads, 0 of them can't be read",
        "schema version  threads",
        "1               5",
        "3               2",
        "migrations needed: from 1, 2",
    ]


def test_a_state_newer_than_the_program_can_not_be_read(run, memory, url):
    put(deployed(memory, 3).checkpointer, config("t1"), {"n": 1})
    done = run("threads", "check", "--schema-version", "2", "--db", url, "--json")
    assert done.code == 1
    assert done.json["error"]["message"] == "1 of 1 threads can't be read"
    (problem,) = done.json["data"]["problems"]
    assert (problem["thread"], problem["schema_version"], problem["code"]) == ("t1", 3, "state_version")
    assert "schema_version=3" in problem["message"]


def test_a_class_that_nobody_named_and_a_damaged_state_are_found_with_what_to_do(run, memory, url, app):
    put(memory.checkpointer, config("typed"), {"profile": app.Profile("Ada")})
    put(deployed(memory, 2).checkpointer, config("damaged"), {"n": 1})
    put(memory.checkpointer, config("fine"), {"n": 1})
    damage(memory, "damaged")
    done = run("threads", "check", "--db", url, "--json")
    assert done.code == 1
    found = {problem["thread"]: problem for problem in done.json["data"]["problems"]}
    assert {name: (p["code"], p["schema_version"]) for name, p in found.items()} == {
        "typed": ("unknown_type", 1),
        "damaged": ("corrupt_value", None),
    }
    assert "--register" in found["typed"]["next"]
    assert "doctor" in found["damaged"]["next"]
    text = run("threads", "check", "--register", "checked_app:Profile", "--db", url)
    assert text.code == 1
    assert "'typed'" not in text.out
    assert "'damaged'" in text.out
    assert text.err == "Error: 1 of 3 threads can't be read\n"


def test_migrations_are_tried_and_nothing_is_written(run, memory, url, app):
    put(memory.checkpointer, config("good"), {"word": "a"})
    put(memory.checkpointer, config("bad"), {"other": "b"})
    options = ["--schema-version", "2", "--migrations", "checked_app:MIGRATIONS", "--db", url]
    done = run("threads", "check", *options, "--json")
    (problem,) = done.json["data"]["problems"]
    assert (done.code, problem["thread"], problem["code"]) == (1, "bad", "state_migration")
    assert "louder" in problem["message"]
    assert "they were tried" in run("threads", "check", *options).out
    assert run("threads", "check", "--db", url, "--json").data["versions"] == {"1": 2}
    gap = run("threads", "check", "--schema-version", "3", *options[2:], "--json")
    assert {p["code"] for p in gap.json["data"]["problems"]} == {"state_version"}


def test_messages_that_no_provider_takes_are_listed_and_can_be_read(run, memory, url):
    call = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c1"}])
    put(memory.checkpointer, config("broken"), {"messages": [HumanMessage("a"), call, HumanMessage("b")]})
    put(memory.checkpointer, config("fine"), {"messages": [HumanMessage("a"), AIMessage("b")]})
    put(memory.checkpointer, config("other"), {"messages": "no list"})
    waiting = {"messages": [HumanMessage("a"), call], "branch:to:tools": None}
    put(memory.checkpointer, config("waiting"), waiting)
    done = run("threads", "check", "--db", url)
    assert done.code == 0
    assert "thread 'broken': messages are no valid conversation: message 1 (call 'c1')" in done.out
    assert "next: " in done.out
    assert all(name not in done.out for name in ("'fine'", "'other'", "'waiting'"))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["--migrations", "checked_app:MIGRATIONS"], 2),
        (["--schema-version", "0"], 1),
        (["--schema-version", "1", "--migrations", "checked_app:MIGRATIONS"], 1),
        (["--schema-version", "2", "--migrations", "checked_app:NONE"], 2),
        (["--register", "nothing"], 2),
    ],
)
def test_what_can_not_be_is_refused(run, memory, url, app, given, code):
    assert run("threads", "check", *given, "--db", url).code == code


def test_an_empty_database_is_fine(run, memory, url):
    assert run("threads", "check", "--db", url).out == "0 threads, 0 of them can't be read\n"
    memory.checkpointer.put_writes(put(memory.checkpointer, config(ns="inner"), {"n": 1}), [("n", 1)], "x" * 8)
    assert run("threads", "check", "--db", url, "--json").data["without_state"] == 1


def test_a_long_list_of_problems_ends(run, memory, url):
    for n in range(103):
        put(deployed(memory, 2).checkpointer, config(f"t{n}"), {"n": 1})
    done = run("threads", "check", "--schema-version", "1", "--db", url)
    assert done.out.count("next: ") == 100
    assert "3 more problems; --json lists all" in done.out


def test_progress_is_shown_on_a_terminal(run, memory, url, monkeypatch):
    put(memory.checkpointer, config(), {"n": 1})
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    run("threads", "check", "--db", url)
    assert "threads" in terminal.getvalue()
