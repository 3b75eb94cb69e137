"""The code in the reference pages runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[2] / "docs/reference"


@pytest.mark.parametrize(("page", "count"), [("histories", 4), ("items", 5)])
def test_the_code_of_a_page_runs_from_top_to_bottom(page, count, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (REFERENCE / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == count
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(program), run_name="page")
