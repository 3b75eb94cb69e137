"""The page about items: its code runs, and it names what there is."""

from __future__ import annotations

import dataclasses
import re
import runpy
from pathlib import Path

from perdure import Policy

PAGE = Path(__file__).parents[2] / "docs/reference/items.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_code_of_the_page_runs_from_top_to_bottom(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 5
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(program), run_name="page")


def test_every_field_of_a_policy_is_named():
    named = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert named == [field.name for field in dataclasses.fields(Policy) if field.name != "prefix"]
