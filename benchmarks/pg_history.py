"""Milliseconds to list every checkpoint of a growing conversation on PostgreSQL, with all that each holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from benchmarks import agents, postgres
from benchmarks.rows import Row, Target
from benchmarks.workers import interleave, started

__all__ = ["measure", "play"]

NAME = "pg-history"
TITLE = "PostgreSQL: the full history of a conversation of 600 checkpoints"
_CONFIG = {"configurable": {"thread_id": "t"}}
_STEPS_A_TURN = 3


def play(name: str, url: str, turns: int) -> Generator[Any, str, None]:
    """Talk, then measure a listing by the "saver", by the "graph", or by the graph with a "new" saver."""
    with postgres.open_saver(name, url) as saver:
        agent = agents.build("plain", saver)
        for _ in range(turns):
            agent.invoke(agents.human(), _CONFIG)
        question = yield None
        while True:
            if question == "new":
                with postgres.open_saver(name, url) as fresh:
                    assert fresh.get_tuple({"configurable": {"thread_id": "nobody"}}) is None
                    spent = _timed(lambda: agents.build("plain", fresh).get_state_history(_CONFIG), turns)
            elif question == "graph":
                spent = _timed(lambda: agent.get_state_history(_CONFIG), turns)
            else:
                spent = _timed(lambda: saver.list(_CONFIG), turns)
            question = yield spent


def _timed(listing: Callable[[], Any], turns: int) -> float:
    start = time.perf_counter()
    found = list(listing())
    spent = (time.perf_counter() - start) * 1000
    values = [getattr(one, "values", None) or one.checkpoint["channel_values"] for one in found if _filled(one)]
    assert len(found) == turns * _STEPS_A_TURN
    assert len(values[0]["messages"]) == 2 * turns
    assert all(message.text for one in values for message in one.get("messages", ()))
    return spent


def _filled(one: Any) -> bool:
    return bool(getattr(one, "values", None)) or hasattr(one, "checkpoint")


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:  # noqa: ARG001 - one interface
    """Return a row for each way to list."""
    turns, rounds = (20, 3) if quick else (200, 5)
    tell(f"talking for {turns} turns")
    names = ("perdure", "postgres")
    with started({name: (play, name, postgres.database(name), turns) for name in names}) as workers:
        tell("listing")
        found = {kind: interleave(workers, [kind] * rounds) for kind in ("new", "graph", "saver")}
    target = Target(">=", 20)
    cases = {"new": "get_state_history, at first", "graph": "get_state_history, again", "saver": "list(), again"}
    return [
        Row(
            f"{cases[kind]}: {3 * turns} checkpoints",
            "ms",
            found[kind],
            base="postgres",
            base_name=postgres.LABELS["postgres"],
            speed=True,
            target=target,
        )
        for kind in cases
    ]
