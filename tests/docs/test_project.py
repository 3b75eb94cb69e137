"""The project's own pages and files agree with each other and with the code."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from perdure import errors

ROOT = Path(__file__).parents[2]
DECISIONS = sorted((ROOT / "docs/decisions").glob("*.md"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = ("requirements/dev.txt", "requirements/run.txt")
WORDS = {"tenant", "subject", "thread", "checkpoint", "channel", "log", "entry", "item", "namespace"}
WORDS |= {"policy", "sweep", "erasure", "receipt"}


def tracked(*patterns):
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def rows(page):
    """Return the cells of every table row of a page, without the head."""
    lines = re.findall(r"^\|(.*)\|$", (ROOT / page).read_text(), re.MULTILINE)
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    return [row for row in cells[1:] if set(row[0]) != {"-"}]


def blocks(page):
    return re.findall(r"^```.*?^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def headings(page):
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    return [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]


def markers(page):
    return re.findall(r"<!-- (.*?) -->", (ROOT / page).read_text())


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_is_short_and_has_its_three_parts(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 40
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert text.startswith(f"# {int(path.name[:4])}. ")


def test_decisions_are_numbered_without_gaps():
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_both_readmes_have_the_same_shape():
    english, chinese = "README.md", "README.zh-CN.md"
    assert headings(english) == headings(chinese)
    assert blocks(english) == blocks(chinese)
    assert markers(english) == markers(chinese)


def test_the_first_example_of_the_readme_is_a_whole_script():
    text = (ROOT / "README.md").read_text()
    example = re.search(r"<!-- example:first -->\n```python\n(.*?)```\n<!-- /example:first -->", text, re.DOTALL)
    assert example
    compile(example[1], "README.md", "exec")


def test_links_between_pages_lead_somewhere():
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in tracked("*.md")
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text())
        if not target.startswith("http") and not (path.parent / target).exists()
    ]
    assert broken == []


def test_no_file_names_a_package_index_or_a_place_on_a_machine():
    hosts = (
        "pypi|org",
        "pythonhosted|org",
        "npmjs|org",
        "npmjs|com",
        "yarnpkg|com",
        "golang|org",
        "crates|io",
    )
    names = [re.escape(host.replace("|", ".")) for host in hosts]
    places = r"(?<![\w.])/(?:work|root|opt|home)/"
    unwanted = re.compile("|".join([*names, places, "(?:--)?(?:extra-)?index-url", "--find-links"]))
    found = [f"{path.relative_to(ROOT)}: {match[0]}" for path, match in _matches(unwanted)]
    assert found == []


def _matches(pattern):
    for path in tracked():
        if path == Path(__file__):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        yield from ((path, match) for match in pattern.finditer(text))


def test_every_lint_rule_that_is_ignored_has_its_reason():
    text = (ROOT / "pyproject.toml").read_text()
    section = text[text.index("ignore = [") : text.index("[tool.ruff.lint.mccabe]")]
    ignored = re.findall(r'^    "[A-Z]+\d*",.*$', section, re.MULTILINE)
    assert len(ignored) > 10
    assert [line for line in ignored if not re.search(r'", # \w.{3,}', line)] == []


def test_the_page_of_errors_lists_every_class_with_its_code_and_status():
    classes = [getattr(errors, name) for name in errors.__all__]
    listed = {tuple(row[:3]) for row in rows("docs/reference/errors.md")}
    assert listed == {(f"`{c.__name__}`", f"`{c.code}`", str(c.status)) for c in classes}


def test_no_two_errors_share_a_code():
    codes = [getattr(errors, name).code for name in errors.__all__]
    assert len(set(codes)) == len(codes)


def test_the_glossary_has_every_word_once_and_in_both_languages():
    table = rows("docs/reference/glossary.md")
    words = [row[0] for row in table]
    assert set(words) >= WORDS
    assert len(set(words)) == len(words)
    assert all(len(row) == 3 and all(row) for row in table)
    assert all(re.search(r"[\u4e00-\u9fff]", row[1]) for row in table)


def test_the_page_of_dependencies_gives_the_bounds_of_the_project_file():
    page = next(path for path in DECISIONS if path.stem.endswith("-dependencies")).read_text()
    named = dict(re.findall(r"([a-z][a-z0-9-]+) ≥ ([\d.]+)", page))
    extras = PROJECT["project"]["optional-dependencies"].values()
    lines = [*PROJECT["project"]["dependencies"], *(line for extra in extras for line in extra)]
    bounds = [Requirement(line) for line in lines]
    assert named == {bound.name: str(bound.specifier).removeprefix(">=") for bound in bounds}


@pytest.mark.parametrize("lock", LOCKS)
def test_the_locked_requirements_follow_the_project_file(lock):
    text = (ROOT / lock).read_text()
    locked = {name: Version(version) for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}
    groups = PROJECT["dependency-groups"] if lock == "requirements/dev.txt" else {}
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["build"]]
    wanted += [line for group in groups.values() for line in group]
    missing = [line for line in wanted if not _fits(Requirement(line), locked)]
    assert missing == []


def _fits(wanted, locked):
    return wanted.name in locked and locked[wanted.name] in wanted.specifier


def test_every_line_of_the_locked_requirements_has_a_hash():
    for lock in (*LOCKS, "requirements/llm.txt"):
        pinned = re.split(r"^(?=\S)", (ROOT / lock).read_text(), flags=re.MULTILINE)[1:]
        assert [part.split()[0] for part in pinned if "--hash=sha256:" not in part] == []


def test_the_version_is_said_once_and_installed():
    assert metadata.version("perdure") == PROJECT["project"]["version"]


def test_the_wheel_holds_every_file_of_the_package(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    source = ROOT / "src"
    wanted = {str(path.relative_to(source)) for path in tracked("src/perdure")}
    assert wanted <= set(zipfile.ZipFile(wheel).namelist())


def test_changelog_fragments_are_one_sentence_of_a_known_kind():
    kinds = {row[0].strip("`") for row in rows("changelog.d/README.md")}
    for path in sorted((ROOT / "changelog.d").iterdir()):
        if path.name != "README.md":
            stem, kind, suffix = path.name.split(".")
            assert (kind in kinds, suffix) == (True, "md"), path.name
            assert re.fullmatch(r"[a-z0-9-]+", stem), path.name
            assert re.fullmatch(r"\S[^\n]*\.\n", path.read_text()), path.name
