"""What pages tell a newcomer to run is run, as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
BIN = Path(sys.executable).parent

ASK_AGAIN = """
from langchain.agents import create_agent
from perdure import Memory
from perdure.cli.demo_model import StandInModel

memory = Memory.open("sqlite:///agent.db")
agent = create_agent(StandInModel(), checkpointer=memory.checkpointer, store=memory.store)
config = {"configurable": {"thread_id": "monday"}}
print(agent.invoke({"messages": [("user", "What is my name?")]}, config)["messages"][-1].text)
"""


def run(command, folder):
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, check=False, cwd=folder, encoding="utf-8", env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def python(source, folder):
    return run([sys.executable, "-W", "error", "-c", source], folder)


def first_example(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.search(r"<!-- example:first -->\n```python\n(.*?)```\n<!-- /example:first -->", text, re.DOTALL)[1]


def test_the_first_example_runs_and_another_process_knows_what_it_was_told(tmp_path):
    example = first_example("README.md")
    assert example == first_example("README.zh-CN.md")
    assert len(example.splitlines()) <= 15
    answers = ["Hello, Ada.", "Your name is Ada.", "I don't know your name."]
    assert python(example, tmp_path).splitlines() == answers
    assert python(ASK_AGAIN, tmp_path) == "Your name is Ada.\n"


def test_another_process_knows_nothing_if_nothing_was_kept(tmp_path):
    forgetful = first_example("README.md").replace("sqlite:///agent.db", "sqlite://")
    assert python(forgetful, tmp_path).splitlines()[1] == "Your name is Ada."
    assert python(ASK_AGAIN, tmp_path) == "I don't know your name.\n"


def test_the_first_screen_of_a_readme_says_installs_shows_and_draws():
    for page in ("README.md", "README.zh-CN.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        places = [text.index(part) for part in ("pip install perdure", "<!-- example:first -->", "chart.svg")]
        assert places == sorted(places)
        assert text[: places[-1]].count("\n") < 45


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_prints_what_it_says(page, tmp_path):
    parts = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(parts) >= 3
    for source, printed in parts:
        assert python(source, tmp_path) == printed
    (looking,) = re.findall(r"```sh\n(export .*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    seen = run(["bash", "-euc", looking], tmp_path)
    assert "What is my name?" in seen
    assert "jasmine tea" in seen


def test_a_tutorial_has_the_same_code_in_both_languages():
    for page in TUTORIALS:
        if not page.stem.endswith(".zh-CN"):
            other = page.with_name(f"{page.stem}.zh-CN.md")
            blocks = [re.findall(r"```.*?```", p.read_text(encoding="utf-8"), re.DOTALL) for p in (page, other)]
            assert blocks[0] == blocks[1]
