"""Durable checkpoints a second from 8 processes on one file, each with 4 threads, and the errors they got."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from benchmarks import contestants, puts
from benchmarks.rows import Row, Target
from benchmarks.workers import Worker, started

__all__ = ["measure", "play"]

NAME = "processes"
TITLE = "8 processes on one file"
PROCESSES = 8
THREADS = 4


def play(name: str, path: Path) -> Generator[Any, float, None]:
    """Put from several threads for the seconds that are sent; yield how many puts a second and which errors."""
    with contestants.open_saver(name, path) as saver:
        puts.from_threads(saver, 1, 0.01)
        seconds = yield None
        while True:
            errors: Counter[str] = Counter()
            counts = [0] * THREADS
            start = time.perf_counter()
            given = (saver, start + seconds, counts, errors)
            threads = [threading.Thread(target=_talk, args=(number, *given)) for number in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds = yield sum(counts) / (time.perf_counter() - start), dict(errors)


def _talk(number: int, saver: Any, until: float, counts: list[int], errors: Counter[str]) -> None:
    while time.perf_counter() < until:
        try:
            _one(number, saver, until, counts)
        except Exception as error:  # noqa: BLE001 - whatever a saver raises is counted
            errors[f"{type(error).__name__}: {error}"] += 1


def _one(number: int, saver: Any, until: float, counts: list[int]) -> None:
    parent = puts.place()
    for checkpoint, metadata, versions in puts.steps(number):
        parent = saver.put(parent, checkpoint, metadata, versions)
        counts[number] += 1
        if time.perf_counter() >= until:
            return


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:
    """Return one row: the puts of all processes together."""
    seconds, rounds = (0.5, 1) if quick else (2.0, 5)
    count = 3 if quick else PROCESSES
    names = ("perdure", "sqlite")
    plays = {(f"{name} {n}"): (play, name, folder / f"many-{name}.db") for name in names for n in range(count)}
    rates: dict[str, list[float]] = {name: [] for name in names}
    errors: dict[str, Counter[str]] = {name: Counter() for name in names}
    tell("starting")
    with started(plays, at_once=1) as workers:
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            for name in names if number % 2 else reversed(names):
                group = [worker for key, worker in workers.items() if key.startswith(f"{name} ")]
                rates[name].append(_together(group, seconds, errors[name]))
    notes = {"errors": {name: dict(found) for name, found in errors.items()}}
    what = f"{count} processes, {THREADS} threads each"
    return [Row(what, "puts/s", rates, base="sqlite", target=Target(">=", 1.0), notes=notes)]


def _together(group: list[Worker], seconds: float, errors: Counter[str]) -> float:
    for worker in group:
        worker.ask(seconds)
    rate = 0.0
    for worker in group:
        one, found = worker.answer()
        rate += one
        errors.update(found)
    return rate
