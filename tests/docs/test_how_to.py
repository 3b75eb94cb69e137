"""The code in the how-to pages runs."""

from __future__ import annotations

import pathlib
import re
import runpy

import pytest

PAGES = sorted(pathlib.Path("docs/how-to").resolve().glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
@pytest.mark.filterwarnings("ignore::perdure.errors.UnsafeRoleWarning")  # the tests' own user is a superuser
@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")  # a page shows it for chains that use it
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, request):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks or "```" not in page.read_text(encoding="utf-8")
    text = "\n".join(blocks)
    for address in set(re.findall(r"postgresql://[^\s\"]+", text)):
        text = text.replace(address, request.getfixturevalue("postgres_url"))
    program = tmp_path / "page.py"
    program.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(program), run_name="page")
