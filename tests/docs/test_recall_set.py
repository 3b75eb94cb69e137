"""The recall set is well-formed, balanced, and as its page describes it."""

import json
import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks/recall_set"
FIELDS = {
    "memories": ["id", "lang", "user", "text", "day"],
    "questions": ["id", "lang", "user", "question", "answers", "kind"],
}


def load(name):
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


MEMORIES = {memory["id"]: memory for memory in load("memories")}
QUESTIONS = load("questions")


def of_kind(*kinds):
    return [question for question in QUESTIONS if question["kind"] in kinds]


def is_chinese(text):
    return re.search(r"[\u4e00-\u9fff]", text) is not None


@pytest.mark.parametrize("name", FIELDS)
def test_every_line_has_its_fields_and_its_number(name):
    rows = load(name)
    assert [row["id"] for row in rows] == [f"{name[0]}{number:03}" for number in range(1, 201)]
    assert [row for row in rows if list(row) != FIELDS[name]] == []


@pytest.mark.parametrize(("name", "field"), [("memories", "text"), ("questions", "question")])
def test_no_text_stands_there_twice(name, field):
    texts = Counter(re.sub(r"\W+", " ", row[field]).strip().casefold() for row in load(name))
    assert "" not in texts
    assert [text for text, times in texts.items() if times > 1] == []


@pytest.mark.parametrize(("name", "field"), [("memories", "text"), ("questions", "question")])
def test_each_language_has_its_share_and_is_the_one_that_is_named(name, field):
    rows = load(name)
    assert [row for row in rows if row["lang"] != ("zh" if is_chinese(row[field]) else "en")] == []
    shares = Counter(row["lang"] for row in rows)
    assert min(shares["en"], shares["zh"]) >= 0.4 * len(rows)


def test_a_memory_has_the_day_it_was_remembered():
    days = [memory["day"] for memory in MEMORIES.values()]
    assert [date.fromisoformat(day).isoformat() for day in days] == days


def test_every_answer_is_a_memory_of_the_one_who_asks():
    wrong = [
        (question["id"], answer)
        for question in QUESTIONS
        for answer in question["answers"]
        if answer not in MEMORIES or MEMORIES[answer]["user"] != question["user"]
    ]
    assert wrong == []
    assert [question for question in QUESTIONS if len(set(question["answers"])) != len(question["answers"])] == []


def test_the_page_counts_the_kinds_as_they_are():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    counted = {kind: int(number) for kind, number in re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)}
    assert counted == Counter(question["kind"] for question in QUESTIONS)


def test_an_update_has_one_answer_and_the_older_memory_on_the_line_before():
    lines = list(MEMORIES.values())
    for question in of_kind("update"):
        (answer,) = question["answers"]
        newer = MEMORIES[answer]
        older = lines[lines.index(newer) - 1]
        assert (older["user"], older["day"] < newer["day"]) == (newer["user"], True), question["id"]


def test_questions_have_as_many_answers_as_their_kind_says():
    assert [question for question in of_kind("direct", "paraphrase", "cross") if len(question["answers"]) != 1] == []
    assert [question for question in of_kind("contradiction") if len(question["answers"]) not in {1, 2}] == []
    assert [question for question in of_kind("multi") if len(question["answers"]) not in {2, 3}] == []


def test_twenty_questions_or_more_have_no_answer_and_only_those_of_their_kind():
    unanswerable = [question["id"] for question in QUESTIONS if not question["answers"]]
    assert unanswerable == [question["id"] for question in of_kind("none")]
    assert len(unanswerable) >= 20


def test_a_cross_question_is_in_the_other_language_than_its_memory_and_a_direct_one_is_not():
    for kind, crosses in (("cross", True), ("direct", False), ("paraphrase", False)):
        for question in of_kind(kind):
            (answer,) = question["answers"]
            assert (MEMORIES[answer]["lang"] != question["lang"]) == crosses, question["id"]
