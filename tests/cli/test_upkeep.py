"""`perdure setup`, `stats` and `doctor`, and what all commands share."""

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from langchain.agents import create_agent

from perdure.cli.demo_model import StandInModel
from perdure.engine import statements

NAMES = [name for name, _ in statements.migrations("sqlite")]


def test_a_database_is_set_up_once(run, url):
    assert run("setup", "--db", url, "--json").data["applied"] == NAMES
    again = run("setup", "--db", url)
    assert (again.code, again.out) == (0, "up to date\n")


def test_the_sql_of_a_setup_is_printed_without_touching_anything(run, tmp_path):
    done = run("setup", "--print")
    assert done.code == 0
    assert "CREATE TABLE threads" in done.out
    assert list(tmp_path.iterdir()) == []


def test_a_tenant_and_a_thread_are_counted(run, memory, url):
    agent = create_agent(StandInModel(), checkpointer=memory.checkpointer)
    agent.invoke({"messages": [("user", "hello")]}, {"configurable": {"thread_id": "a"}})
    memory.store.put(("n",), "k", {"x": 1})
    total = run("stats", "--db", url, "--json").data
    assert (total["threads"], total["items"], total["rows"]["checkpoints"]) == (1, 1, 3)
    assert total["database_bytes"] >= Path(url.removeprefix("sqlite:///")).stat().st_size
    of_thread = run("stats", "--thread", "a", "--db", url, "--json").data
    assert of_thread["checkpoints"] == 3
    assert [c["channel"] for c in of_thread["channels"]] == ["messages"]
    assert "entries of messages" in run("stats", "--thread", "a", "--db", url).out
    assert run("stats", "--thread", "b", "--db", url).code == 1


def test_the_row_counts_name_every_table_that_has_tenants(run, memory, url):
    execute = memory.engine._connection.execute
    tables = execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%tenant%'").fetchall()
    assert set(run("stats", "--db", url, "--json").data["rows"]) == {name for (name,) in tables}


def test_the_doctor_finds_nothing_wrong_with_a_new_database(run, memory, url):
    done = run("doctor", "--db", url, "--json")
    assert done.code == 0
    found = {line["what"]: line["detail"] for line in done.data}
    assert found["python"] == platform.python_version()
    assert {"apsw", "langgraph", "file is sound"} <= set(found)


def test_the_doctor_says_what_is_wrong(run, url, tmp_path):
    (tmp_path / "agent.db").write_bytes(b"no database" * 1000)
    done = run("doctor", "--db", url, "--json")
    assert (done.code, done.json["ok"]) == (1, False)
    assert "no SQLite database" in done.json["data"][-1]["detail"]
    assert "WRONG" in run("doctor", "--db", url).out


def test_the_version_is_told(program):
    assert program("--version").out == f"perdure {metadata.version('perdure')}\n"


def test_the_url_may_come_from_the_environment(program, url):
    assert program("setup", env={"PERDURE_URL": url}).code == 0
    assert program("threads", "ls", "--json", env={"PERDURE_URL": url}).data == []


def test_every_command_answers_in_one_envelope(run, memory, url):
    memory.store.put(("n",), "k", {"x": 1})
    for command in (["threads", "ls"], ["items", "ls"], ["items", "get", "n", "k"], ["stats"], ["setup"], ["doctor"]):
        found = run(*command, "--db", url, "--json").json
        assert list(found) == ["ok", "command", "data", "next"]
        assert found["command"] == " ".join(command[:2] if command[0] in {"threads", "items"} else command)
    failed = run("threads", "show", "nobody", "--db", url, "--json").json
    assert list(failed) == ["ok", "error"]
    assert list(failed["error"]) == ["code", "message", "status"]


@pytest.mark.parametrize("args", [["threads", "nothing"], ["threads", "show"], ["stats", "--nothing"], ["nothing"]])
def test_wrong_usage_is_told_in_the_same_envelope_with_exit_code_2(run, args):
    done = run(*args, "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "usage")
    spoken = run(*args)
    assert (spoken.code, spoken.out, "Traceback" in spoken.err) == (2, "", False)


def test_a_command_without_more_prints_its_help(run):
    for args in ([], ["threads"], ["items"]):
        done = run(*args)
        assert done.code == 2
        assert "Commands:" in done.err
    assert run("--help").code == 0


@pytest.mark.parametrize("color", [{}, {"NO_COLOR": "1"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_what_is_piped_has_no_color_and_is_not_cut(program, memory, url, color):
    memory.store.put(("n",), "k", {"text": "x" * 200})
    done = program("items", "ls", "--db", url, env={**color, "COLUMNS": "20"})
    assert "\x1b[3" not in done.out
    assert "x" * 200 in done.out


def test_a_reader_that_leaves_early_is_no_error(memory, url):
    for number in range(300):
        memory.store.put(("n",), f"k{number}", {"text": "x" * 300})
    command = f"'{sys.executable}' -m perdure.cli items ls --limit 300 --db {url} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, text=True)  # noqa: S607
    assert done.stdout.startswith("namespace")
    assert done.stderr == ""


def test_text_of_any_language_is_printed_whatever_the_terminal_can_show(program, memory, url):
    memory.store.put(("n",), "k", {"text": "茶"})
    done = program("items", "ls", "--db", url, env={"PYTHONIOENCODING": "ascii"})
    assert r"\u8336" in done.out


def test_the_settings_are_the_only_place_that_reads_the_environment():
    package = Path(__file__).parents[2] / "src/perdure"
    readers = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "os.environ" in path.read_text() or "getenv" in path.read_text()
    }
    assert readers == {"settings.py"}
    assert os.environ
