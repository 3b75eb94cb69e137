"""Round trips to PostgreSQL: how many a turn takes, for each shape of agent, counted on the wire."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.faults.proxies import Proxy

from benchmarks import agents, postgres
from benchmarks.rows import Row, Target

__all__ = ["counted", "measure"]

NAME = "pg-trips"
TITLE = "PostgreSQL: round trips of a turn, as times the calls that LangGraph makes"
TURNS = 5
_CONFIG = {"configurable": {"thread_id": "t"}}
_CALLS = {"put": "writes", "put_writes": "writes", "get_tuple": "reads"}


@contextmanager
def counted(saver: Any) -> Iterator[Counter[str]]:
    """Count the calls of a saver, in both styles."""
    found: Counter[str] = Counter()

    def count(method: Any, kind: str) -> Any:
        @functools.wraps(method)
        def call(*given: Any, **named: Any) -> Any:
            found[kind] += 1
            return method(*given, **named)

        return call

    names = {prefix + name: kind for name, kind in _CALLS.items() for prefix in ("", "a")}
    for name, kind in names.items():
        setattr(saver, name, count(getattr(saver, name), kind))
    try:
        yield found
    finally:
        for name in names:
            delattr(saver, name)


def _trips(name: str, shape: str) -> dict[str, float]:
    """Return the calls of a turn, its round trips on the wire, and those of a read, warm and cold."""
    url = postgres.database(name)
    found: dict[str, float] = {}
    with Proxy(url) as proxy:
        with postgres.open_saver(name, proxy.url) as saver:
            agent = agents.build(shape, saver)
            for _ in range(TURNS):
                agent.invoke(agents.human(), _CONFIG)
            before = _own(saver)
            with proxy.round_trips() as wire, counted(saver) as calls:
                for _ in range(TURNS):
                    agent.invoke(agents.human(), _CONFIG)
            assert name != "perdure" or wire.number == _own(saver) - before
            found |= {"calls": sum(calls.values()) / TURNS, "turn": wire.number / TURNS}
            found["warm"] = _read(proxy, agent)
        with postgres.open_saver(name, proxy.url) as fresh:
            assert fresh.get_tuple({"configurable": {"thread_id": "nobody"}}) is None
            found["cold"] = _read(proxy, agents.build(shape, fresh))
    postgres.drop(url)
    return found


def _own(saver: Any) -> int:
    """Return the round trips that Perdure itself has counted."""
    calls = getattr(saver, "_calls", None)
    return calls.engine.trips if calls else 0


def _read(proxy: Proxy, agent: Any) -> float:
    with proxy.round_trips() as wire:
        assert agent.get_state(_CONFIG).values
    return wire.number


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:  # noqa: ARG001 - one interface
    """Return a row of turns for each shape, and the rows of a read."""
    rows = []
    for shape in agents.SHAPES:
        tell(shape)
        found = {name: _trips(name, shape) for name in ("perdure", "postgres")}
        ours = found["perdure"]
        turn = {name: [one["turn"]] for name, one in found.items()}
        base = {"base": "calls", "base_name": "calls of the saver", "target": Target("<=", 1.0)}
        rows.append(Row(f"{shape}, a turn", "calls", {"calls": [ours["calls"]], **turn}, **base))
        for what, limit in (("warm", 1.0), ("cold", 2.0)):
            reads = {name: [one[what]] for name, one in found.items()}
            rows.append(Row(f"{shape}, get_state, {what}", "times", reads, target=Target("<=", limit)))
    return rows
