"""Retrieval: how much of what answers a question a search finds, in each way to search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.embedders import RememberingEmbedder
from benchmarks.rows import Row
from perdure import Memory
from perdure.langgraph.local import LocalEmbeddings

__all__ = ["DEPTHS", "WAYS", "Question", "opened", "ranked", "recall", "row", "stored"]

WAYS: dict[str, dict[str, Any]] = {
    "text": {"mode": "text"},
    "vector": {"mode": "vector"},
    "hybrid": {"mode": "hybrid"},
    "ranks": {"mode": "hybrid", "fusion": "ranks"},
}
"""Options of `store.search`, by what tables call them."""
DEPTHS = (5, 10, 20)
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, where, and the keys of the items that answer it."""

    text: str
    namespace: tuple[str, ...]
    answers: frozenset[str]
    kind: str
    language: str = "en"


@contextmanager
def opened(path: Path, fields: Sequence[str]) -> Iterator[Any]:
    """Open the store of a new file, with the embedder that works without a network."""
    index: Any = {"embed": RememberingEmbedder(LocalEmbeddings()), "fields": [*fields]}
    with Memory.open(f"sqlite:///{path}", index=index) as memory:
        yield memory.store


def stored(store: Any, items: Iterable[Any]) -> Iterator[int]:
    """Put items in batches; yield how many there are, after each."""
    ops = [*items]
    for at in range(0, len(ops), _AT_ONCE):
        store.batch(ops[at : at + _AT_ONCE])
        yield min(at + _AT_ONCE, len(ops))


def ranked(store: Any, question: Question, way: str, prefix: tuple[str, ...] | None = None) -> list[Any]:
    """Return what a search finds, the best first."""
    found: list[Any] = store.search(
        question.namespace if prefix is None else prefix, query=question.text, limit=max(DEPTHS), **WAYS[way]
    )
    return found


def recall(question: Question, found: Sequence[str], depth: int) -> float:
    """Return the share of the answers that are among the first results."""
    return len(question.answers.intersection(found[:depth])) / len(question.answers)


def row(case: str, questions: Sequence[Question], found: Mapping[str, Mapping[Question, Sequence[str]]]) -> Row:
    """Return the mean recall of each way to search; `found` are keys by way and question.

    The case ends with the depth it is counted at: "…, at 10".
    """
    depth = int(case.rpartition(" ")[2])
    means = {way: [fmean(recall(one, keys[one], depth) for one in questions)] for way, keys in found.items()}
    return Row(case, "share", means, notes={"questions": len(questions)})
