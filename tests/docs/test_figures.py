"""The figures that the pages show are those that were measured."""

import re
from xml.etree import ElementTree as ET

import pytest
from benchmarks import chart, figures, locomo, parts, results, tables
from langchain.agents.middleware import AgentMiddleware

from perdure import middleware

FOUND = results.load()


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.name)
def test_a_page_shows_the_figures_that_were_measured(page):
    text = page.read_text()
    assert text == figures.fill(text, FOUND), "python -m benchmarks.figures fills them in"
    assert "…<!-- /figure -->" not in text


def test_both_readmes_show_the_same_figures():
    english, chinese = (re.findall(r"<!-- figure:\w+ -->.*?<!-- /figure -->", p.read_text()) for p in figures.PAGES[:2])
    assert english == chinese
    assert len(english) == 3


def test_the_chart_is_that_of_the_results_and_small():
    drawn = figures.CHART.read_text()
    assert drawn == chart.draw(FOUND)
    assert len(drawn.encode()) < 15_000
    ET.fromstring(drawn)  # noqa: S314 - our own file


def test_every_verdict_follows_from_its_ratio_and_target():
    rows = [row for found in FOUND["measurements"].values() for row in found["rows"] if "target" in row]
    assert len(rows) > 15
    for row in rows:
        sign, limit = row["target"].split()[:2]
        ratio = row["ratios"]["perdure"]
        assert row["met"] == (ratio <= float(limit) if sign == "≤" else ratio >= float(limit)), row["case"]


def test_the_page_of_measurements_hides_no_missed_target():
    page = figures.PAGES[2].read_text()
    missed = [row for found in FOUND["measurements"].values() for row in found["rows"] if row.get("met") is False]
    assert page.count("| missed |") == len(missed)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (803_000_000, "bytes", "803 MB"),
        (2_140_000, "bytes", "2.14 MB"),
        (12.34, "ms", "12.3 ms"),
        (1234, "s", "1,234 s"),
    ],
)
def test_an_amount_is_short_and_names_its_unit(value, unit, shown):
    assert tables.amount(value, unit) == shown


def test_what_a_search_finds_is_shown_as_a_share_and_floors_apart():
    medians = {"text": 0.5, "hybrid": 0.75}
    row = {"case": "all, at 5", "unit": "share", "base": None, "medians": medians, "ratios": medians}
    floor = {"case": "min_score=0.10", "unit": "share", "base": None, "medians": {"lost": 0.1}, "ratios": {"lost": 0.1}}
    found = {"measurements": {"recall": {"title": "Recall", "rows": [row, floor]}}}
    assert tables.markdown(found, "recall").splitlines()[-1] == "| all, at 5 | 0.500 |  | 0.750 |  |  |  |  |"
    assert tables.markdown(found, "floors").splitlines()[-1] == "| min_score=0.10 |  | 0.100 |  |  |  |"
    assert len(tables.markdown(found).splitlines()) == 2


def test_what_middleware_adds_is_shown_in_milliseconds_with_what_the_model_saw():
    medians = {"added": 1.5, "added-file": -0.25, "request": 1.25}
    notes = {"a turn, as times": "1.05 ×", "shown": "31 messages, 3,981 tokens"}
    row = {"case": "a part", "unit": "ms", "base": None, "medians": medians, "ratios": medians, "notes": notes}
    found = {"measurements": {"context": {"title": "Context", "rows": [row]}}}
    wanted = "| a part | 1.50 ms | -0.25 ms | 1.25 ms | 1.05 × | 31 messages, 3,981 tokens |"
    assert tables.markdown(found, "context").splitlines()[-1] == wanted
    assert len(tables.markdown(found).splitlines()) == 2


def test_each_part_of_the_middleware_is_measured_beside_what_langchain_has():
    measured = " ".join(one.case for one in parts.VARIANTS)
    known = [
        name for name, one in vars(middleware).items() if isinstance(one, type) and issubclass(one, AgentMiddleware)
    ]
    assert [name for name in known if name not in measured] == []


@pytest.mark.parametrize(("given", "said"), [(None, "make bench-recall LOCOMO="), ("nowhere.json", "names no file")])
def test_the_data_set_that_is_not_ours_is_skipped_with_a_sentence(monkeypatch, given, said):
    monkeypatch.delenv("LOCOMO", raising=False)
    if given:
        monkeypatch.setenv("LOCOMO", given)
    assert said in locomo.unavailable()
