"""Bytes on disk after so many turns of one conversation, in four shapes of agent."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import agents, contestants
from benchmarks.rows import Row, Target
from benchmarks.workers import Worker

__all__ = ["measure", "play"]

NAME = "storage"
TITLE = "Bytes stored, as times the text of the conversation"
MARKS = (100, 200, 500, 1000)
QUICK_MARKS = (20, 40)
AFFORDABLE = {"plain": 500}
"""Turns up to which the stock savers, whose bytes grow with the square, are measured; 200 for other shapes."""

_CONFIG = {"configurable": {"thread_id": "t"}}
_IN_MEMORY = ("inmemory",)


def play(name: str, shape: str, folder: Path) -> Generator[Any, int, None]:
    """Talk up to the turn that is sent; yield the bytes stored, those of the text, and the seconds spent so far.

    A file is closed before it is measured, which brings its log into it.
    """
    path = folder / f"{name}-{shape}.db"
    turns, seconds = 0, 0.0
    mark = yield None
    with ExitStack() as kept:
        saver = kept.enter_context(contestants.open_saver(name, path)) if name in _IN_MEMORY else None
        while True:
            with ExitStack() as opened:
                used = saver or opened.enter_context(contestants.open_saver(name, path))
                spent, messages = _talk(agents.build(shape, used), mark - turns)
            turns, seconds = mark, seconds + spent
            size = path.stat().st_size if saver is None else _blob_bytes(saver)
            mark = yield {"bytes": size, "raw": agents.raw_bytes(messages), "seconds": seconds}


def _talk(agent: Any, turns: int) -> tuple[float, list[Any]]:
    start = time.perf_counter()
    state: Any = None
    for _ in range(turns):
        state = agent.invoke(agents.human(), _CONFIG)
    return time.perf_counter() - start, state["messages"]


def _blob_bytes(saver: Any) -> int:
    return sum(len(data) for _, data in saver.blobs.values())


def _marks(name: str, shape: str, *, quick: bool) -> tuple[int, ...]:
    marks = QUICK_MARKS if quick else MARKS
    return marks if name == "perdure" else tuple(mark for mark in marks if mark <= AFFORDABLE.get(shape, 200))


def _grow(names: tuple[str, ...], shape: str, folder: Path, *, quick: bool) -> dict[str, dict[int, Any]]:
    """Return what `play` yields by contestant and turn; they take turns, so that their seconds compare."""
    workers = {name: Worker(play, name, shape, folder) for name in names}
    found: dict[str, dict[int, Any]] = {name: {} for name in names}
    try:
        for worker in workers.values():
            worker.answer()
        for mark in QUICK_MARKS if quick else MARKS:
            for name, worker in workers.items():
                if mark in _marks(name, shape, quick=quick):
                    found[name][mark] = worker.measure(mark)
    finally:
        for worker in workers.values():
            worker.close()
        for name in names:
            (folder / f"{name}-{shape}.db").unlink(missing_ok=True)  # up to gigabytes
    return found


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:
    """Return the rows of all four shapes."""
    names = ("perdure", "sqlite", "inmemory")
    tell("plain")
    grown = {"plain": _grow(names, "plain", folder, quick=quick)}
    tell("tools, subgraph and send")
    # Bytes don't care who else runs, so two at a time.
    with ThreadPoolExecutor(2) as pool:
        others = [shape for shape in agents.SHAPES if shape != "plain"]
        jobs = {
            (shape, name): pool.submit(_grow, (name,), shape, folder, quick=quick) for shape in others for name in names
        }
        for shape in others:
            grown[shape] = {name: jobs[shape, name].result()[name] for name in names}
    return [row for shape in agents.SHAPES for row in _rows(shape, grown[shape])]


def _rows(shape: str, grown: dict[str, dict[int, Any]]) -> list[Row]:
    marks = list(grown["perdure"])
    rows = []
    for mark in marks:
        there = {name: found[mark] for name, found in grown.items() if mark in found}
        rows.append(
            Row(
                f"{shape}, {mark:,} turns",
                "bytes",
                {"raw": [there["perdure"]["raw"]], **{name: [found["bytes"]] for name, found in there.items()}},
                base="raw",
                base_name="raw text",
                target=Target("<=", 3.0) if mark == marks[-1] else None,
                notes={"seconds": {name: round(found["seconds"], 2) for name, found in there.items()}},
            )
        )
    return [*rows, *_growth(shape, grown, marks)]


def _growth(shape: str, grown: dict[str, dict[int, Any]], marks: list[int]) -> list[Row]:
    """Return how the bytes grow from N to 2N turns."""
    rows = []
    for half in marks:
        there = {name: found for name, found in grown.items() if half in found and 2 * half in found}
        if there:
            ratios = {name: [found[2 * half]["bytes"] / found[half]["bytes"]] for name, found in there.items()}
            target = Target("<=", 2.1) if 2 * half == marks[-1] else None
            rows.append(Row(f"{shape}, {2 * half:,} turns / {half:,}", "times", ratios, target=target))
    return rows
