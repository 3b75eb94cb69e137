"""Milliseconds of one turn, and of `get_state`, in a conversation of 1,000 messages on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import pg_trips, postgres
from benchmarks.rows import Row, Target
from benchmarks.turns import Conversation
from benchmarks.workers import Worker, started

__all__ = ["measure", "play"]

NAME = "pg-turns"
TITLE = "PostgreSQL: a turn and get_state at 1,000 messages"
CONTESTANTS = ("perdure", "postgres", "async-postgres", "keep", "none")
_TURNS_A_ROUND = 4
_READS_A_ROUND = 10
_KINDS = (("turn", "sync"), ("turn", "async"), ("state", "sync"), ("state", "async"), ("cold", "sync"))


def play(name: str, url: str, messages: int) -> Generator[Any, tuple[str, str], None]:
    """Talk until there are so many messages, then measure (what, style)."""
    with asyncio.Runner() as runner, postgres.open_saver(name, url, runner=runner) as saver:
        talk = Conversation(saver, runner)
        talk.turns(messages // 2, "async" if name == "async-postgres" else "sync")
        question = yield None
        while True:
            what, style = question
            if what == "turn":
                question = yield talk.turns(_TURNS_A_ROUND, style)
            elif what == "state":
                question = yield talk.states(_READS_A_ROUND, style)
            elif what == "cold":
                question = yield _cold(name, url, runner)
            else:
                with pg_trips.counted(saver) as calls:
                    talk.turns(1, style)
                question = yield calls["writes"]


def _cold(name: str, url: str, runner: asyncio.Runner) -> float:
    """Return the milliseconds of the first `get_state` of a saver that is connected and has read nothing yet."""
    with postgres.open_saver(name, url, runner=runner) as saver:
        assert saver.get_tuple({"configurable": {"thread_id": "nobody"}}) is None
        return Conversation(saver, runner).states(1, "sync")


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:  # noqa: ARG001 - one interface
    """Return the rows of turns and of `get_state`."""
    messages, rounds = (100, 3) if quick else (1000, 8)
    tell(f"talking up to {messages:,} messages")
    # Measured turns add to the conversation: it is as long as asked for in the middle of them.
    before = messages - (rounds * _TURNS_A_ROUND * 2 * 2) // 2
    plays: dict[str, tuple[Any, ...]] = {
        name: (play, name, "" if name in {"keep", "none"} else postgres.database(name), before) for name in CONTESTANTS
    }
    plays["commit"] = (postgres.commit, postgres.database("commit"))
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    commit: list[float] = []
    with started(plays) as workers:
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            commit.append(workers["commit"].measure())
            for kind in _KINDS:
                _round(workers, kind, number, found.setdefault(kind, {}))
        commits = {style: workers["perdure"].measure(("commits", style)) for style in ("sync", "async")}
    return [*[_turn_row(style, found["turn", style], commit, commits[style]) for style in commits], *_state_rows(found)]


def _takes_part(name: str, what: str, style: str) -> bool:
    if name == "commit" or (name in {"none", "keep"} and what != "turn"):
        return False
    return name != ("async-postgres" if style == "sync" else "postgres")


def _round(workers: dict[str, Worker], question: tuple[str, str], number: int, into: dict[str, list[float]]) -> None:
    names = [name for name in workers if _takes_part(name, *question)]
    first = number % len(names)
    for name in names[first:] + names[:first]:
        into.setdefault(name, []).append(workers[name].measure(question))


def _turn_row(style: str, found: dict[str, list[float]], commit: list[float], commits: int) -> Row:
    floor = [turn + commits * one for turn, one in zip(found["none"], commit, strict=True)]
    return Row(
        "invoke" if style == "sync" else "ainvoke",
        "ms",
        {"floor": floor, **found},
        base="floor",
        base_name="no saver + its commits",
        target=Target("<=", 3.0),
        notes={"commits a turn": {"perdure": commits}, "ms a durable commit": round(median(commit), 3)},
    )


def _state_rows(found: dict[tuple[str, str], dict[str, list[float]]]) -> list[Row]:
    names = (("state", "sync", "get_state"), ("state", "async", "aget_state"), ("cold", "sync", "get_state, at first"))
    rows = []
    for what, style, call in names:
        stock = "postgres" if style == "sync" else "async-postgres"
        target = Target("<=", 1.0)
        rows.append(Row(call, "ms", found[what, style], base=stock, base_name=postgres.LABELS[stock], target=target))
    return rows
