"""Durable checkpoints a second, from threads and tasks, on the disk as it is and where a sync takes 4 ms."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6

from benchmarks import agents, contestants, disk, slow_disk
from benchmarks.rows import Row, Target
from benchmarks.workers import Worker, started

__all__ = ["from_tasks", "from_threads", "measure", "place", "play", "steps"]

NAME = "puts"
TITLE = "Durable puts a second"
LOADS = (("threads", 1), ("threads", 8), ("threads", 64), ("tasks", 64))
_STEPS = 8
"""Checkpoints of one thread; each holds one message more, so a thread ends with about 7 kB of text."""

_texts = [agents.text() for _ in range(500)]


def steps(number: int) -> Iterator[tuple[Any, Any, Any]]:
    """Yield checkpoints of one conversation as a plain agent makes them, each with its metadata and new versions."""
    messages: list[Any] = []
    for step in range(_STEPS):
        kind = AIMessage if step % 2 else HumanMessage
        messages = [*messages, kind(_texts[(number + step) % len(_texts)], id=str(uuid.uuid4()))]
        version = f"{step + 2:032}.0"
        checkpoint = {
            "v": 4,
            "id": str(uuid6(clock_seq=-1)),
            "ts": datetime.now(UTC).isoformat(),
            "channel_values": {"messages": messages},
            "channel_versions": {"__start__": f"{1:032}.0", "messages": version, "branch:to:model": version},
            "versions_seen": {"__input__": {}, "__start__": {"__start__": f"{1:032}.0"}, "model": {}},
            "updated_channels": ["messages"],
        }
        yield checkpoint, {"source": "loop", "step": step, "parents": {}}, {"messages": version}


def place() -> Any:
    """Return the config of a thread nobody has used."""
    return {"configurable": {"thread_id": str(uuid.uuid4()), "checkpoint_ns": ""}}


def _talk(saver: Any, number: int, until: float, counts: list[int]) -> None:
    while time.perf_counter() < until:
        parent = place()
        for checkpoint, metadata, versions in steps(number):
            parent = saver.put(parent, checkpoint, metadata, versions)
            counts[number] += 1
            if time.perf_counter() >= until:
                return


async def _atalk(saver: Any, number: int, until: float, counts: list[int]) -> None:
    while time.perf_counter() < until:
        parent = place()
        for checkpoint, metadata, versions in steps(number):
            parent = await saver.aput(parent, checkpoint, metadata, versions)
            counts[number] += 1
            if time.perf_counter() >= until:
                return


def from_threads(saver: Any, count: int, seconds: float) -> float:
    """Put from so many threads; return the puts of all in a second."""
    counts = [0] * count
    start = time.perf_counter()
    threads = [threading.Thread(target=_talk, args=(saver, n, start + seconds, counts)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - start)


async def from_tasks(saver: Any, count: int, seconds: float) -> float:
    """Put from so many tasks of one loop; return the puts of all in a second."""
    counts = [0] * count
    start = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(_atalk(saver, number, start + seconds, counts))
    return sum(counts) / (time.perf_counter() - start)


def play(name: str, folder: Path, *, slow: bool) -> Generator[float | None, tuple[str, int, float], None]:
    """Measure (threads or tasks, how many, seconds)."""
    vfs = slow_disk.register() if slow else None
    path = folder / f"puts-{name}-{'slow' if slow else 'fast'}.db"
    with asyncio.Runner() as runner, contestants.open_saver(name, path, vfs=vfs, runner=runner) as saver:
        question = yield None
        while True:
            kind, count, seconds = question
            if kind == "tasks":
                question = yield runner.run(from_tasks(saver, count, seconds))
            else:
                question = yield from_threads(saver, count, seconds)


def _play(name: str, folder: Path, slow: bool) -> Any:  # noqa: FBT001 - sent to a process by position
    return play(name, folder, slow=slow)


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:
    """Return the rows of both disks, and that of the adapter."""
    seconds, rounds = (0.3, 3) if quick else (1.0, 5)
    rows = []
    for slow in (False, True):
        names = ("perdure", "sqlite", "async-sqlite")
        names += () if slow else ("sqlite-adapter", "perdure-memory", "inmemory")
        plays: dict[str, tuple[Any, ...]] = {name: (_play, name, folder, slow) for name in names}
        with started(plays | {"disk": (disk.play, folder)}) as workers:
            for kind, count in LOADS:
                tell(f"{count} {kind}, {_disk_name(slow=slow)}")
                found = _rounds(workers, (kind, count, seconds), rounds)
                rows.extend(_rows(found, kind, count, slow=slow))
    return rows


def _disk_name(*, slow: bool) -> str:
    return "a sync takes 4 ms" if slow else "disk as it is"


def _rounds(workers: dict[str, Worker], load: tuple[str, int, float], rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    unfit = {"async-sqlite"} if load[0] == "threads" else {"sqlite", "sqlite-adapter"}
    names = [name for name in workers if name not in unfit]
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            found.setdefault(name, []).append(workers[name].measure("syncs" if name == "disk" else load))
    return found


def _rows(found: dict[str, list[float]], kind: str, count: int, *, slow: bool) -> list[Row]:
    stock = "sqlite" if kind == "threads" else "async-sqlite"
    if slow:
        # The disk of a 4 ms sync: what it takes as it is, and the sleep.
        found["disk"] = [1 / (1 / rate + slow_disk.SECONDS) for rate in found["disk"]]
    through = found.pop("sqlite-adapter", None)
    what = f"{count} {kind if count > 1 else 'thread'}, {_disk_name(slow=slow)}"
    limit = 5.0 if slow and count == 64 else 1.0
    notes = {"disk": f"{median(found['disk']):.0f} syncs a second"}
    rows = [Row(what, "puts/s", found, base=stock, target=Target(">=", limit), notes=notes)]
    if through is not None:
        pair = {"sqlite": found["sqlite"], "sqlite-adapter": through}
        rows.append(Row(f"{what}, through the adapter", "puts/s", pair, base="sqlite"))
    return rows
