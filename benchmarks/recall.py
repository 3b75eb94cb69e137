"""Recall on the project's own set of memories and questions, and the floor below which nothing is an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from langgraph.store.base import PutOp

from benchmarks import results, retrieval
from benchmarks.retrieval import DEPTHS, WAYS, Question
from benchmarks.rows import Row

__all__ = ["measure"]

NAME = "recall"
TITLE = "Recall on the recall set"
_SET = results.FOLDER / "recall_set"
_KINDS = {
    "direct": "direct",
    "paraphrase": "paraphrase",
    "update": "update",
    "contradiction": "contradiction",
    "multi": "several memories",
    "cross": "the other language",
}
_LANGUAGES = {"en": "asked in English", "zh": "asked in Chinese"}
_FLOORS = tuple(number / 100 for number in range(5, 55, 5))
_ALL = ("memories",)

Keys = dict[str, dict[Question, list[str]]]


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:
    """Return recall by kind and language, searched per user and over all, and what floors do."""
    questions = [*_questions()][:: 10 if quick else 1]
    answerable = [one for one in questions if one.answers]
    with retrieval.opened(folder / "recall.db", ["text"]) as store:
        tell("200 memories")
        _ = [*retrieval.stored(store, _memories())]
        tell(f"{len(questions)} questions")
        own = {way: {one: _keys(retrieval.ranked(store, one, way)) for one in answerable} for way in WAYS}
        over = {way: {one: _keys(retrieval.ranked(store, one, way, _ALL)) for one in answerable} for way in WAYS}
        scored = {one: retrieval.ranked(store, one, "hybrid") for one in questions}
    return [*_recalls(answerable, own, over), *_floors(scored)]


def _recalls(questions: list[Question], own: Keys, over: Keys) -> Iterator[Row]:
    for depth in DEPTHS:
        yield retrieval.row(f"one user's memories, at {depth}", questions, own)
    for depth in DEPTHS:
        yield retrieval.row(f"all memories, at {depth}", questions, over)
    for kind, name in _KINDS.items():
        yield from _part(f"one user's, {name}, at 5", [one for one in questions if one.kind == kind], own)
    for language, name in _LANGUAGES.items():
        yield from _part(f"one user's, {name}, at 5", [one for one in questions if one.language == language], own)


def _part(case: str, questions: list[Question], found: Keys) -> Iterator[Row]:
    if questions:
        yield retrieval.row(case, questions, found)


def _floors(scored: dict[Question, list[Any]]) -> Iterator[Row]:
    """Return for each floor how many questions without an answer get none, and how many answers are lost by it."""
    unanswerable = [one for one in scored if not one.answers]
    answerable = [one for one in scored if one.answers]
    for floor in _FLOORS:
        kept = {one: [item for item in found if item.score >= floor] for one, found in scored.items()}
        nothing = fmean(not kept[one] for one in unanswerable)
        lost = fmean(_lost(one, scored[one], kept[one]) for one in answerable)
        notes = {"results a question": round(fmean(len(kept[one]) for one in answerable), 1)}
        yield Row(f"min_score={floor:.2f}", "share", {"nothing": [nothing], "lost": [lost]}, notes=notes)


def _lost(question: Question, found: list[Any], kept: list[Any]) -> bool:
    """Tell whether a question whose answer is among the first 10 gets none of its answers any more."""
    before, after = (question.answers.intersection(_keys(some[:10])) for some in (found, kept))
    return bool(before) and not after


def _keys(found: Iterable[Any]) -> list[str]:
    return [item.key for item in found]


def _memories() -> Iterator[PutOp]:
    for memory in _read("memories"):
        value = {"text": memory["text"], "day": memory["day"]}
        yield PutOp((*_ALL, memory["user"]), memory["id"], value)


def _questions() -> Iterator[Question]:
    for given in _read("questions"):
        answers = frozenset(given["answers"])
        yield Question(given["question"], (*_ALL, given["user"]), answers, given["kind"], given["lang"])


def _read(name: str) -> list[Any]:
    return [json.loads(line) for line in (_SET / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
