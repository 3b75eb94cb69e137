"""Milliseconds to list every checkpoint of a growing conversation, with all that each holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from benchmarks import agents, contestants
from benchmarks.rows import Row, Target
from benchmarks.workers import interleave, started

__all__ = ["measure", "play"]

NAME = "history"
TITLE = "The full history of a conversation: list() of 600 checkpoints"
_CONFIG = {"configurable": {"thread_id": "t"}}
_STEPS_A_TURN = 3


def play(name: str, folder: Path, turns: int) -> Generator[Any, str, None]:
    """Talk, then measure a listing: "cold" with the file just opened, "warm" in a process that has listed before."""
    path = folder / f"history-{name}.db"
    with contestants.open_saver(name, path) as saver:
        agent = agents.build("plain", saver)
        for _ in range(turns):
            agent.invoke(agents.human(), _CONFIG)
        _list(saver, turns)
        question = yield None
        while True:
            if question == "warm":
                question = yield _list(saver, turns)
            else:
                with contestants.open_saver(name, path) as fresh:
                    spent = _list(fresh, turns)
                question = yield spent


def _list(saver: Any, turns: int) -> float:
    start = time.perf_counter()
    found = list(saver.list(_CONFIG))
    spent = (time.perf_counter() - start) * 1000
    lengths = [len(one.checkpoint["channel_values"].get("messages", ())) for one in found]
    assert len(found) == turns * _STEPS_A_TURN
    assert lengths[0] == 2 * turns
    assert all(message.text for one in found for message in one.checkpoint["channel_values"].get("messages", ()))
    return spent


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:
    """Return a row for a file just opened and one for a warm process."""
    turns, rounds = (20, 3) if quick else (200, 5)
    tell(f"talking for {turns} turns")
    names = ("perdure", "perdure-memory", "sqlite", "inmemory")
    with started({name: (play, name, folder, turns) for name in names}) as workers:
        tell("listing")
        warm = interleave(workers, ["warm"] * rounds)
        cold = interleave({name: workers[name] for name in ("perdure", "sqlite")}, ["cold"] * rounds)
    target = Target(">=", 20)
    return [
        Row(f"{3 * turns} checkpoints, file just opened", "ms", cold, base="sqlite", speed=True, target=target),
        Row(f"{3 * turns} checkpoints, again", "ms", warm, base="sqlite", speed=True, target=target),
    ]
