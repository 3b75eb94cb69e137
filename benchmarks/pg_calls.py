"""Calls a second through 8 connections: many conversations of 20 messages, each put and read at once."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6

from benchmarks import agents, postgres
from benchmarks.rows import Row, Target
from benchmarks.workers import interleave, started

__all__ = ["Talk", "measure", "play"]

NAME = "pg-calls"
TITLE = "PostgreSQL: puts and gets a second through 8 connections"
CONNECTIONS = 8
THREADS = 64
MESSAGES = 20

_texts = [agents.text() for _ in range(500)]


class Talk:
    """One conversation. A step adds a message and puts the checkpoint that a plain agent would, then reads it."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._messages = [self._message(place) for place in range(MESSAGES - 1)]
        self._where: Any = {"configurable": {"thread_id": str(uuid.uuid4()), "checkpoint_ns": ""}}
        self._step = 0

    def _message(self, place: int) -> Any:
        kind = AIMessage if place % 2 else HumanMessage
        return kind(_texts[(self._number + place) % len(_texts)], id=str(uuid.uuid4()))

    def _given(self) -> tuple[Any, Any, Any, Any]:
        self._messages = [*self._messages, self._message(len(self._messages))]
        self._step += 1
        version = f"{self._step + 1:032}.0"
        seen = f"{1:032}.0"
        checkpoint = {
            "v": 4,
            "id": str(uuid6(clock_seq=-1)),
            "ts": datetime.now(UTC).isoformat(),
            "channel_values": {"messages": self._messages},
            "channel_versions": {"__start__": seen, "messages": version, "branch:to:model": version},
            "versions_seen": {"__input__": {}, "__start__": {"__start__": seen}, "model": {}},
            "updated_channels": ["messages"],
        }
        metadata = {"source": "loop", "step": self._step, "parents": {}}
        return self._where, checkpoint, metadata, {"messages": version}

    def _check(self, found: Any) -> None:
        assert len(found.checkpoint["channel_values"]["messages"]) == len(self._messages)

    def step(self, saver: Any) -> None:
        """Put, then get the newest."""
        self._where = saver.put(*self._given())
        self._check(saver.get_tuple(_newest(self._where)))

    async def astep(self, saver: Any) -> None:
        """Do what `step` does without blocking the event loop."""
        self._where = await saver.aput(*self._given())
        self._check(await saver.aget_tuple(_newest(self._where)))


def _newest(where: Any) -> Any:
    given = where["configurable"]
    return {"configurable": {"thread_id": given["thread_id"], "checkpoint_ns": ""}}


def play(name: str, url: str, count: int, style: str) -> Generator[float | None, None, None]:
    """Begin so many conversations; then yield the calls a second of a step of all of them."""
    talks = [Talk(number) for number in range(count)]
    with asyncio.Runner() as runner, postgres.open_saver(name, url, pool=CONNECTIONS, runner=runner) as saver:

        def all_of_them() -> None:
            if style == "async":
                runner.run(_together(talks, saver))
            else:
                with ThreadPoolExecutor(THREADS) as pool:
                    list(pool.map(lambda talk: talk.step(saver), talks))

        all_of_them()
        yield None
        while True:
            start = time.perf_counter()
            all_of_them()
            yield 2 * count / (time.perf_counter() - start)


async def _together(talks: list[Talk], saver: Any) -> None:
    async with asyncio.TaskGroup() as group:
        for talk in talks:
            group.create_task(talk.astep(saver))


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:  # noqa: ARG001 - one interface
    """Return a row for tasks and one for threads."""
    count, rounds = (100, 3) if quick else (400, 7)
    rows = []
    for style, stock in (("async", "async-postgres"), ("sync", "postgres")):
        what = f"{count} tasks" if style == "async" else f"{count} pieces of work in {THREADS} threads"
        tell(what)
        plays = {name: (play, name, postgres.database(name), count, style) for name in ("perdure", stock)}
        with started(plays) as workers:
            found = interleave(workers, [None] * rounds)
        target = Target(">=", 2.5)
        rows.append(Row(what, "calls/s", found, base=stock, base_name=postgres.LABELS[stock], target=target))
    return rows
