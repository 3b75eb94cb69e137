"""The suite that every store can run: Perdure's passes it, and LangGraph's own show that it bites."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from perdure import Memory
from perdure.testing import StoreSuite, Supports

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/test-your-store.md"
MINUTE = 60_000_000


class Clock:
    """A fake clock, in microseconds."""

    def __init__(self):
        self.now = 1_800_000_000_000_000

    def __call__(self):
        return self.now

    def forward(self, minutes):
        self.now += round(minutes * MINUTE)


class TestPerdure(StoreSuite):
    supports = Supports(conditions=True, increment=True)
    ttl = 1

    @pytest.fixture
    def clock(self):
        return Clock()

    @pytest.fixture
    def open_store(self, url, clock):
        @contextlib.contextmanager
        def open_one(index):
            with Memory.open(url, index=index) as memory:
                yield Memory(dataclasses.replace(memory._calls, clock=clock)).store

        return open_one

    @pytest.fixture
    def wait(self, clock):
        return clock.forward

    def sweep(self, store):
        store.sweep()


def outcomes(program, folder):
    """Run tests in a process of their own; return the names of those that failed and that passed, by class."""
    report = folder / "report.xml"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", str(program)],
        capture_output=True,
        check=False,
        cwd=ROOT,
        encoding="utf-8",
    )
    assert done.returncode in {0, 1}, done.stdout
    failed, passed = {}, {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - our own run's
        kinds = {part.tag for part in case}
        if "skipped" not in kinds:
            found = failed if kinds & {"failure", "error"} else passed
            names = found.setdefault(case.get("classname").split(".")[-1], set())
            names.add(case.get("name").split("[")[0].removeprefix("test_"))
    return failed, passed


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    return outcomes(ROOT / "tests/contract/peer_stores.py", tmp_path_factory.mktemp("peers"))


EVERY_PEER = {
    "a_dot_is_a_character_like_others",
    "a_filter_finds_what_is_equal",
    "a_limit_that_is_no_number_of_items_is_refused",
    "an_odd_namespace_is_refused_or_kept_by_one_rule",
    "an_update_keeps_created_at_and_moves_updated_at",
    "numbers_are_compared_as_numbers",
}
SQLITE = {"times_are_aware_and_in_utc", "what_has_ended_is_gone_for_every_read_before_a_sweep"}
FAILURES = {
    "TestInMemoryStore": EVERY_PEER
    | {
        "a_batch_is_stored_whole_or_not_at_all",
        "a_read_creates_no_namespace",
        "a_value_that_was_read_is_nobody_elses",
        "an_emptied_namespace_is_not_listed",
        "an_index_of_other_dimensions_than_its_embedder_is_refused_when_it_is_opened",
        "an_old_text_leaves_no_trace",
        "the_value_that_was_put_stays_the_callers_own",
        "without_a_query_the_newest_update_comes_first",
    },
    "TestSqliteStore": EVERY_PEER | SQLITE,
    "TestAsyncSqliteStore": EVERY_PEER | SQLITE | {"a_store_works_in_a_second_event_loop_after_the_first_is_closed"},
}


@pytest.mark.parametrize("name", FAILURES)
def test_control_the_suite_bites_langgraphs_own_stores(peers, name):
    failed, passed = peers
    assert failed[name] == FAILURES[name]
    assert len(passed[name] - failed[name]) > 15


def test_the_page_shows_a_suite_that_passes(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    program = tmp_path / "test_example.py"
    program.write_text(example, encoding="utf-8")
    failed, passed = outcomes(program, tmp_path)
    assert failed == {}
    assert len(passed["TestMyStore"]) > 30


def test_the_page_lists_what_a_store_may_say_of_itself():
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == ["open_store", "styles", "supports", "ttl", "wait", "sweep"]
    assert all(hasattr(StoreSuite, name) for name in listed)
    for field in dataclasses.fields(Supports):
        assert f"`{field.name}`" in PAGE.read_text(encoding="utf-8")


def test_without_pytest_the_error_says_what_to_install():
    code = "import sys; sys.modules['pytest'] = None; import perdure.testing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, encoding="utf-8")
    assert done.stderr.splitlines()[-1] == "ImportError: perdure.testing needs pytest: pip install pytest"
