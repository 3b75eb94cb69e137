"""The code in the how-to pages runs."""

from __future__ import annotations

import pathlib
import re

import pytest

PAGES = sorted(pathlib.Path("docs/how-to").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": f"page_{page.stem.replace('-', '_')}"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)  # noqa: S102 - our own page
    assert blocks or "```" not in page.read_text(encoding="utf-8")
