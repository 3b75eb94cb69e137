"""Milliseconds of one turn, and of `get_state`, in a conversation of 1,000 messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import agents, contestants, disk
from benchmarks.rows import Row, Target
from benchmarks.workers import Worker, started

__all__ = ["measure", "play"]

NAME = "turns"
TITLE = "A turn and get_state at 1,000 messages"
CONTESTANTS = ("perdure", "perdure-memory", "sqlite", "async-sqlite", "inmemory", "keep", "none")
_CONFIG = {"configurable": {"thread_id": "t"}}
_TURNS_A_ROUND = 4
_READS_A_ROUND = 10


class Conversation:
    """One conversation with the plain agent, in both calling styles."""

    def __init__(self, saver: Any, runner: asyncio.Runner) -> None:
        self.agent = agents.build("plain", saver)
        self._keeps = saver is not None
        self._runner = runner
        self._messages: list[Any] = []

    def turns(self, count: int, style: str) -> float:
        """Say so many things; return the milliseconds that each took."""
        if style == "sync":
            return _each(count, lambda: self._heard(self.agent.invoke(self._said(), _CONFIG)))

        async def turn() -> None:
            self._heard(await self.agent.ainvoke(self._said(), _CONFIG))

        return self._runner.run(_aeach(count, turn))

    def states(self, count: int, style: str) -> float:
        """Ask for the state so many times; return the milliseconds that each took."""
        if style == "sync":
            return _each(count, lambda: self.agent.get_state(_CONFIG))
        return self._runner.run(_aeach(count, lambda: self.agent.aget_state(_CONFIG)))

    def _said(self) -> dict[str, Any]:
        """Return the next input. Without a saver, everything that was said before is handed in again."""
        given = agents.human()
        return given if self._keeps else {"messages": [*self._messages, *given["messages"]]}

    def _heard(self, state: dict[str, Any]) -> None:
        self._messages = state["messages"]


def _each(count: int, work: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) * 1000 / count


async def _aeach(count: int, work: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    for _ in range(count):
        await work()
    return (time.perf_counter() - start) * 1000 / count


def play(name: str, folder: Path, messages: int) -> Generator[Any, tuple[str, str], None]:
    """Talk until there are so many messages, then measure (what, style)."""
    path = folder / f"turns-{name}.db"
    with asyncio.Runner() as runner, contestants.open_saver(name, path, runner=runner) as saver:
        talk = Conversation(saver, runner)
        talk.turns(messages // 2, "async" if name == "async-sqlite" else "sync")
        question = yield None
        while True:
            what, style = question
            if what == "turn":
                question = yield talk.turns(_TURNS_A_ROUND, style)
            elif what == "state":
                question = yield talk.states(_READS_A_ROUND, style)
            elif what == "cold":
                question = yield _cold(name, path, runner)
            else:
                question = yield contestants.count_commits(name, saver, lambda: talk.turns(1, style))  # noqa: B023 - now


def _cold(name: str, path: Path, runner: asyncio.Runner) -> float:
    """Return the milliseconds of the first `get_state` after the file was opened."""
    with contestants.open_saver(name, path, runner=runner) as saver:
        return Conversation(saver, runner).states(1, "sync")


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:
    """Return the rows of turns and of `get_state`."""
    messages, rounds = (100, 3) if quick else (1000, 12)
    tell(f"talking up to {messages:,} messages")
    # Measured turns add to the conversation: it is as long as asked for in the middle of them.
    before = messages - (rounds * _TURNS_A_ROUND * 2 * 2) // 2
    plays: dict[str, tuple[Any, ...]] = {name: (play, name, folder, before) for name in CONTESTANTS}
    with started(plays | {"disk": (disk.play, folder)}) as workers:
        commit: list[float] = []
        found: dict[tuple[str, str], dict[str, list[float]]] = {}
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            commit.append(workers["disk"].measure("commit"))
            for what, style in (("turn", "sync"), ("turn", "async"), ("state", "sync"), ("state", "async")):
                _round(workers, (what, style), number, found.setdefault((what, style), {}))
            _round(workers, ("cold", "sync"), number, found.setdefault(("cold", "sync"), {}))
        commits = {style: workers["perdure"].measure(("commits", style)) for style in ("sync", "async")}
        stock = workers["sqlite"].measure(("commits", "sync"))
    turns = [row for style in commits for row in _turn_rows(style, found["turn", style], commit, commits[style], stock)]
    return [*turns, *_state_rows(found)]


def _takes_part(name: str, what: str, style: str) -> bool:
    if name == "disk" or (name == "none" and what != "turn"):
        return False
    if what == "cold":
        return name in {"perdure", "sqlite"}
    return name != ("async-sqlite" if style == "sync" else "sqlite")


def _round(workers: dict[str, Worker], question: tuple[str, str], number: int, into: dict[str, list[float]]) -> None:
    names = [name for name in workers if _takes_part(name, *question)]
    first = number % len(names)
    for name in names[first:] + names[:first]:
        into.setdefault(name, []).append(workers[name].measure(question))


def _turn_rows(
    style: str, found: dict[str, list[float]], commit: list[float], commits: int, stock_commits: int
) -> list[Row]:
    call = "invoke" if style == "sync" else "ainvoke"
    stock = "sqlite" if style == "sync" else "async-sqlite"
    floor = [turn + commits * one for turn, one in zip(found["none"], commit, strict=True)]
    on_disk = {name: found[name] for name in ("perdure", stock, "none")}
    in_memory = {name: found[name] for name in ("none", "perdure-memory", "inmemory", "keep")}
    notes = {
        "commits a turn": {"perdure": commits, "sqlite": stock_commits},
        "ms a durable commit": round(median(commit), 3),
    }
    return [
        Row(
            f"{call}, file",
            "ms",
            {"floor": floor, **on_disk},
            base="floor",
            base_name="no saver + its commits",
            target=Target("<=", 3.0, aim=1.5),
            notes=notes,
        ),
        Row(f"{call}, in memory", "ms", in_memory, base="none", base_name="no saver"),
    ]


def _state_rows(found: dict[tuple[str, str], dict[str, list[float]]]) -> list[Row]:
    rows = []
    for style, call in (("sync", "get_state"), ("async", "aget_state")):
        rows.append(
            Row(call, "ms", found["state", style], base="inmemory", base_name="InMemorySaver", target=Target("<=", 1.0))
        )
    cold = {"inmemory": found["state", "sync"]["inmemory"], **found["cold", "sync"]}
    return [*rows, Row("get_state, file just opened", "ms", cold, base="inmemory", base_name="InMemorySaver")]
