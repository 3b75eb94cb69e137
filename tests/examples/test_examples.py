"""Every example runs by itself, with warnings as errors, and ends with the sentence it is for."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))
ENDINGS = {
    "async_agent": "Twenty threads talked at once, and each knew its own name.",
    "clear_tool_results": "What was left out could be read again.",
    "custom_state": "Absent stayed absent, and None stayed None.",
    "delete_messages": "What was left was a conversation each time.",
    "four_ways_to_forget": "Four ways to forget, and each forgot only its own.",
    "interrupt": "The run went on where it had stopped, and nothing ran twice.",
    "items": "Every item was where it should be, for as long as it should.",
    "memory_tools": "What was remembered in one thread was found in another, by its own user only.",
    "message_history": "Each tenant, actor and thread had a history of its own, and the agent went on with it.",
    "old_chain": "The old chain remembered, and its thread is one like any other.",
    "parallel_retry": "What had succeeded was not done again.",
    "postgres": "What one process was told, the other knew.",
    "profile_prompt": "Each call saw the profile of its user as it is stored now, or the default.",
    "profile_search": "Each question met the facts it was about, of its own customer only.",
    "pydantic_state": "Every value came back equal and of its own type.",
    "recall": "The model was shown what is known, and no text got out of its fence.",
    "roles_and_quotas": "A member was refused, and of ten calls at once exactly three went through.",
    "runtime_context": "Every part knew whose run it was, and without that nothing ran.",
    "semantic_search": "What was meant was found, in both languages.",
    "short_term": "Each thread knows what was said in it.",
    "state_graph": "The second run went on with the first one's basket.",
    "state_migrations": "Every old thread went on in the new shape, and an unprepared release was refused.",
    "streaming": "Every mode left the same state behind.",
    "structured_output": "The answer came back as an object of its class.",
    "subgraph_own": "The subgraph remembered its own state, thread by thread.",
    "subgraph_parent": "The subgraph resumed inside its parent's thread.",
    "summarise": "The model saw a summary, and people still read everything.",
    "tenants": "Each tenant found its own data and nobody else's.",
    "time_travel": "Every state is still there, and each can be gone on from.",
    "tool_command": "What the tool set stayed with the thread.",
    "trim_request": "The model saw less than the thread keeps.",
    "why": "Each time the cause had a name.",
    "word_search": "Every item was found by what it says.",
}


def run(program, folder, *given):
    return subprocess.run(
        [sys.executable, "-W", "error", program, *given],
        capture_output=True,
        check=False,
        cwd=folder,
        encoding="utf-8",
        env={**os.environ, "TMPDIR": str(folder)},
        timeout=120,
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_shows_what_it_is_for(program, tmp_path, request):
    given = [request.getfixturevalue("application_url")] if program.stem == "postgres" else []
    done = run(program, tmp_path, *given)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == ENDINGS[program.stem]
    assert list(tmp_path.iterdir()) == []


def test_an_example_whose_memory_forgets_fails(tmp_path):
    source = (EXAMPLES / "short_term.py").read_text()
    forgetful = tmp_path / "forgetful.py"
    forgetful.write_text(source.replace("checkpointer=memory.checkpointer", ""))
    assert forgetful.read_text() != source
    assert "AssertionError" in run(forgetful, tmp_path).stderr


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_is_short_and_says_what_it_is_about_and_checks_it(program):
    source = program.read_text()
    assert len(source.splitlines()) < 80
    tree = ast.parse(source)
    assert ast.get_docstring(tree)
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    assert "FakeModel" not in source or "No language model" in source
    assert "StandInModel" not in source or "a stand-in for a language model" in source


def test_the_page_of_examples_lists_each_once():
    listed = re.findall(r"^\| \[(\w+)\.py\]\((\w+)\.py\) \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert [name for name, _ in listed] == [link for _, link in listed]
    assert sorted(name for name, _ in listed) == [path.stem for path in PROGRAMS] == sorted(ENDINGS)
