"""Where Perdure's time goes: cProfile over one piece of work, in every thread that it starts."""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore

from benchmarks import agents, contestants, context, parts, puts, slow_disk, talks
from benchmarks.turns import Conversation

__all__ = ["PROFILES", "profile"]

_CONFIG = {"configurable": {"thread_id": "t"}}


def _turns(saver: Any, style: str, messages: int) -> Callable[[], object]:
    runner = asyncio.Runner()
    talk = Conversation(saver, runner)
    talk.turns(messages // 2, style)
    return lambda: talk.turns(20, style)


def _state(saver: Any) -> Callable[[], object]:
    agent = agents.build("plain", saver)
    for _ in range(500):
        agent.invoke(agents.human(), _CONFIG)
    return lambda: [agent.get_state(_CONFIG) for _ in range(50)]


def _history(saver: Any) -> Callable[[], object]:
    agent = agents.build("plain", saver)
    for _ in range(200):
        agent.invoke(agents.human(), _CONFIG)
    return lambda: list(saver.list(_CONFIG))


def _request(saver: Any) -> Callable[[], object]:
    talk = context.Talk(parts.VARIANTS[-1], talks.talk(571), saver, InMemoryStore())
    return lambda: [talk.request(number) for number in range(20)]


PROFILES: dict[str, Callable[[Any], Callable[[], object]]] = {
    "turn": lambda saver: _turns(saver, "sync", 1000),
    "aturn": lambda saver: _turns(saver, "async", 1000),
    "state": _state,
    "history": _history,
    "request": _request,
    "put": lambda saver: lambda: puts.from_threads(saver, 1, 3),
    "puts": lambda saver: lambda: puts.from_threads(saver, 64, 3),
    "aputs": lambda saver: lambda: asyncio.run(puts.from_tasks(saver, 64, 3)),
}
"""By name: prepares with a saver, and returns the work to look at."""


def profile(name: str, folder: Path, *, slow: bool = False, top: int = 40) -> None:
    """Print where the time of a piece of work goes; the profiler itself makes calls look dearer than they are."""
    vfs = slow_disk.register() if slow else None
    with contestants.open_saver("perdure", folder / "profile.db", vfs=vfs) as saver:
        work = PROFILES[name](saver)
        stats = _watched(work)
    stats.sort_stats("tottime").print_stats(top)
    stats.sort_stats("cumulative").print_stats("perdure", top)


def _watched(work: Callable[[], object]) -> pstats.Stats:
    profiles: list[cProfile.Profile] = []

    def begin(*_: object) -> None:
        # Called at the first event of a new thread; from here on the profile listens itself.
        one = cProfile.Profile()
        profiles.append(one)
        one.enable()

    threading.setprofile(begin)
    begin()
    try:
        work()
    finally:
        profiles[0].disable()
        threading.setprofile(None)  # type: ignore[arg-type]
    stats = pstats.Stats(profiles[0])
    for other in profiles[1:]:
        other.create_stats()
        stats.add(other)
    return stats
