"""The pages say of the command line what it says of itself."""

import re
from pathlib import Path

from tests.cli import reference

ROOT = Path(__file__).parents[2]


def test_the_page_of_the_command_line_is_its_help():
    assert reference.PAGE.read_text(encoding="utf-8") == reference.render(), "python -m tests.cli.reference"


def test_every_command_that_a_page_names_is_there():
    known = {" ".join(words) for words in reference.commands()} | {"COMMAND"}
    groups = {words[0] for words in reference.commands() if len(words) > 1}
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py")]
    unknown = []
    for page in pages:
        for words in re.findall(r"[`'$] ?perdure ([a-z]+(?: [a-z]+)?)", page.read_text(encoding="utf-8")):
            first = words.split()[0]
            if (words if first in groups and words != first else first) not in known:
                unknown.append((page.name, words))
    assert unknown == []


def test_the_table_of_commands_in_both_readmes_lists_them_all():
    names = {words[0] for words in reference.commands()}
    for page in ("README.md", "README.zh-CN.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        table = text.partition("<!-- commands -->")[2].partition("<!-- /commands -->")[0]
        assert set(re.findall(r"^\| `perdure (\w+)", table, re.MULTILINE)) == names
