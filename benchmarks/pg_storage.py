"""Bytes in PostgreSQL after so many turns of one conversation, in four shapes of agent."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import agents, postgres
from benchmarks.rows import Row, Target
from benchmarks.workers import Worker

__all__ = ["measure", "play"]

NAME = "pg-storage"
TITLE = "PostgreSQL: bytes of tables and indexes after VACUUM, as times the text of the conversation"
MARKS = (100, 200, 500, 1000)
QUICK_MARKS = (20, 40)
AFFORDABLE = 200
"""Turns up to which the stock saver, whose bytes grow with the square, is measured."""

Grown = dict[int, dict[str, int]]
_CONFIG = {"configurable": {"thread_id": "t"}}


def play(name: str, url: str, shape: str) -> Generator[Any, int, None]:
    """Talk up to the turn that is sent; yield the bytes of text that were said."""
    with postgres.open_saver(name, url) as saver:
        agent = agents.build(shape, saver)
        turns, mark = 0, (yield None)
        while True:
            for _ in range(turns, mark):
                state = agent.invoke(agents.human(), _CONFIG)
            turns = mark
            mark = yield agents.raw_bytes(state["messages"])


def _grow(name: str, shape: str, marks: tuple[int, ...]) -> Grown:
    """Return the bytes of the text, those stored, and how many of these are more than an empty schema's, by turn."""
    url = postgres.database(name)
    empty = postgres.bytes_of(url)
    worker = Worker(play, name, url, shape)
    found = {}
    try:
        worker.answer()
        for mark in marks:
            raw = worker.measure(mark)
            stored = postgres.bytes_of(url)
            found[mark] = {"raw": raw, "stored": stored, "grown": stored - empty}
    finally:
        worker.close()
        postgres.drop(url)
    return found


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:  # noqa: ARG001 - one interface
    """Return the rows of all four shapes."""
    marks = QUICK_MARKS if quick else MARKS
    affordable = tuple(mark for mark in marks if mark <= AFFORDABLE)
    tell("talking")
    postgres.server()
    # Bytes don't care who else runs, so two at a time.
    with ThreadPoolExecutor(2) as pool:
        jobs = {
            (shape, name): pool.submit(_grow, name, shape, marks if name == "perdure" else affordable)
            for shape in ("tools", "send", "subgraph", "plain")  # the longest first
            for name in ("perdure", "postgres")
        }
        found = {key: job.result() for key, job in jobs.items()}
    return [row for shape in agents.SHAPES for row in _rows(shape, found[shape, "perdure"], found[shape, "postgres"])]


def _rows(shape: str, ours: Grown, theirs: Grown) -> list[Row]:
    last = max(ours)
    rows = [_row(shape, mark, ours, theirs, "stored") for mark in ours]
    half = last // 2
    slope = [(ours[last]["stored"] - ours[half]["stored"]) / (ours[last]["raw"] - ours[half]["raw"])]
    rows.append(_row(shape, last, ours, theirs, "grown"))
    return [*rows, Row(f"{shape}, from {half:,} to {last:,} turns", "times", {"perdure": slope})]


def _row(shape: str, mark: int, ours: Grown, theirs: Grown, key: str) -> Row:
    raw = ours[mark]["raw"]
    values = {"raw": [raw], "perdure": [ours[mark][key]]}
    if mark in theirs:
        # Each was told other words, of as good as the same length.
        values["postgres"] = [theirs[mark][key] * raw / theirs[mark]["raw"]]
    case = f"{shape}, {mark:,} turns" + (", beyond the empty schema" if key == "grown" else "")
    target = Target("<=", 3.0) if mark == max(ours) else None
    return Row(case, "bytes", values, base="raw", base_name="raw text", target=target)
