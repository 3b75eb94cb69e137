"""`perdure import` and `perdure export`."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from tests.moving import graphs, peer

from perdure import Memory

CLASSES = [part for cls in graphs.TYPES for part in ("--types", f"{cls.__module__}:{cls.__qualname__}")]


@pytest.fixture(scope="session")
def _written(tmp_path_factory):
    path = tmp_path_factory.mktemp("stock") / "stock.db"
    peer.ask("long", f"sqlite:///{path}", "12")
    return path


@pytest.fixture
def stock(_written, tmp_path):
    return f"sqlite:///{shutil.copy(_written, tmp_path / 'stock.db')}"


def test_threads_come_in_and_go_out_again(run, stock, url, tmp_path):
    done = run("import", "langgraph", "--from", stock, "--db", url)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:2] == [
        "threads: 1 moved, 0 there already",
        "checkpoints: 12, pending writes: 12, each compared with its source",
    ]
    again = run("import", "langgraph", "--from", stock, "--db", url, "--json").data
    assert (again["threads"], again["threads_there"], again["failures"], again["notes"]) == (0, 1, [], [])
    back = f"sqlite:///{tmp_path}/back.db"
    assert run("export", "langgraph", "--to", back, "--db", url, *CLASSES, "--json").data["checkpoints"] == 12
    assert peer.ask("states", back, "long") == peer.ask("states", stock, "long")


def test_our_own_databases_are_moved_by_tenant(run, stock, url, tmp_path):
    run("import", "langgraph", "--from", stock, "--db", url, "--tenant", "acme")
    other = f"sqlite:///{tmp_path}/other.db"
    assert run("import", "perdure", "--from", url, "--db", other, "--json").data["threads"] == 0
    assert run("import", "perdure", "--from", url, "--db", other, "--tenant", "acme", "--json").data["threads"] == 1
    with Memory.open(other) as memory:
        assert [thread.id for thread in memory.scope(tenant="acme").threads.list().threads] == ["long"]


def test_a_conflict_ends_the_command_as_failed_and_says_what_to_do(run, stock, url):
    with Memory.open(url) as memory:
        graphs.approval(memory.checkpointer).invoke({"seen": []}, graphs.config("long"))
    done = run("import", "langgraph", "--from", stock, "--db", url)
    assert done.code == 1
    assert "threads: 0 moved" in done.out
    assert "delete it on one side" in done.err
    envelope = run("import", "langgraph", "--from", stock, "--db", url, "--json").json
    assert (envelope["ok"], envelope["error"]["code"]) == (False, "conflict")
    assert envelope["data"]["failures"][0]["what"] == "thread 'long'"


def test_only_named_threads_are_moved(run, stock, url):
    done = run("import", "langgraph", "--from", stock, "--db", url, "--thread", "long", "--thread", "none", "--json")
    assert (done.code, done.json["data"]["threads"], done.json["error"]["code"]) == (1, 1, "not_found")


@pytest.mark.parametrize("name", ["graphs", "no.such.module:Class", "tests.moving.graphs:Nothing", "json:dumps"])
def test_types_that_can_not_be_found_are_wrong_usage(run, stock, url, name):
    done = run("import", "langgraph", "--from", stock, "--db", url, "--types", name)
    assert done.code == 2
    assert "--types" in done.err


def test_one_file_is_not_read_and_written_at_once(run, stock):
    done = run("import", "langgraph", "--from", stock, "--db", stock)
    assert (done.code, "same file" in done.err) == (1, True)


def test_a_database_that_is_not_there_is_not_made_by_an_export(run, url, tmp_path):
    done = run("export", "langgraph", "--to", f"sqlite:///{tmp_path}/back.db", "--db", url)
    assert done.code == 1
    assert not (tmp_path / "back.db").exists()


def test_progress_is_shown_on_a_terminal_only_and_never_what_was_said(stock, url):
    leader, follower = os.openpty()
    program = [sys.executable, "-m", "perdure.cli", "import", "langgraph", "--from", stock, "--db", url, "--json"]
    done = subprocess.run(program, stdout=subprocess.PIPE, stderr=follower, check=True, timeout=120)
    os.close(follower)
    shown = b""
    while part := _read(leader):
        shown += part
    os.close(leader)
    assert json.loads(done.stdout)["ok"]
    assert b"checkpoints" in shown
    assert b"12/12" in shown
    assert b"message 1" not in shown


def _read(leader):
    try:
        return os.read(leader, 65536)
    except OSError:
        return b""
