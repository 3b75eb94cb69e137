"""The page about histories: its code runs, and it names what there is."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from langchain_core.chat_history import BaseChatMessageHistory

from perdure.langgraph.histories import History

PAGE = Path(__file__).parents[2] / "docs/reference/histories.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_code_of_the_page_runs_from_top_to_bottom(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 4
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(program), run_name="page")


def test_every_method_is_named_with_its_async_twin():
    named = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| `.*", TEXT, re.MULTILINE))))
    public = {name for name in vars(History) if not name.startswith("_")} - {"thread_id"}
    assert public <= named
    assert {name for name in vars(BaseChatMessageHistory) if name.startswith("aadd_messages")} <= named
