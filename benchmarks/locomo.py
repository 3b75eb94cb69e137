"""Recall on LoCoMo (Maharana et al. 2024), which is not for commercial use: read where LOCOMO says, never copied."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp

from benchmarks import retrieval
from benchmarks.retrieval import DEPTHS, WAYS, Question
from benchmarks.rows import Row

__all__ = ["measure", "unavailable"]

NAME = "locomo"
TITLE = "Recall of the evidence in LoCoMo's conversations"
KINDS = {1: "several turns", 2: "time", 3: "inference", 4: "one turn"}
"""Its categories of questions that have an answer."""
FIELDS = {"speaker and text": ["text"], "with date and caption": ["$"]}
"""What is indexed, by how rows call it."""


def unavailable() -> str:
    """Return why it can't be measured; nothing if it can."""
    given = os.environ.get("LOCOMO")
    if not given:
        return "LoCoMo is not part of the project; make bench-recall LOCOMO=locomo10.json measures with a copy of yours"
    return "" if Path(given).is_file() else "LoCoMo is skipped: LOCOMO names no file"


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:
    """Return recall by what is indexed, over all questions and by category."""
    talks = json.loads(Path(os.environ["LOCOMO"]).read_text(encoding="utf-8"))[: 1 if quick else None]
    return [row for name, fields in FIELDS.items() for row in _rows(folder, tell, talks, (name, fields))]


def _rows(folder: Path, tell: Callable[[str], None], talks: list[Any], indexed: tuple[str, list[str]]) -> Iterator[Row]:
    name, fields = indexed
    questions = [question for number, talk in enumerate(talks) for question in _questions(number, talk)]
    with retrieval.opened(folder / f"{name.replace(' ', '-')}.db", fields) as store:
        for count in retrieval.stored(store, _turns(talks)):
            if count % 1024 == 0:
                tell(f"{name}: {count:,} turns")
        tell(f"{name}: {len(questions):,} questions")
        found = {way: {one: _keys(store, one, way) for one in questions} for way in WAYS}
    for depth in DEPTHS:
        yield retrieval.row(f"{name}, at {depth}", questions, found)
    for kind in KINDS.values():
        yield retrieval.row(f"{name}, {kind}, at 10", [one for one in questions if one.kind == kind], found)


def _keys(store: Any, question: Question, way: str) -> list[str]:
    return [item.key for item in retrieval.ranked(store, question, way)]


def _turns(talks: list[Any]) -> Iterator[PutOp]:
    """Return each turn as an item: what was said and by whom, when, and what its picture shows."""
    for number, talk in enumerate(talks):
        for turn, date in _said(talk["conversation"]):
            value = {"text": f"{turn['speaker']}: {turn['text']}", "date": date}
            if caption := turn.get("blip_caption"):
                value["image"] = caption
            yield PutOp(_place(number), turn["dia_id"], value)


def _said(talk: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    for name, turns in talk.items():
        if isinstance(turns, list):
            yield from ((turn, talk[f"{name}_date_time"]) for turn in turns)


def _questions(number: int, talk: Any) -> Iterator[Question]:
    """Return the questions whose evidence is there; some name turns that are not, or several in one string."""
    turns = {turn["dia_id"] for turn, _ in _said(talk["conversation"])}
    for given in talk["qa"]:
        pairs = re.findall(r"D(\d+):(\d+)", " ".join(given["evidence"]))
        answers = frozenset(f"D{int(session)}:{int(turn)}" for session, turn in pairs) & turns
        if answers and given["category"] in KINDS:
            yield Question(given["question"], _place(number), answers, KINDS[given["category"]])


def _place(number: int) -> tuple[str, ...]:
    return ("conversations", str(number))
