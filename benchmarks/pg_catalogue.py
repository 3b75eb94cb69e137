"""Milliseconds to list the newest 20 of 100,000 threads, and which tables that reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import postgres
from benchmarks.rows import Row
from benchmarks.workers import started
from perdure import Memory
from perdure.engine import statements

__all__ = ["measure", "play", "relations"]

NAME = "pg-catalogue"
TITLE = "PostgreSQL: the newest 20 of 100,000 threads"
_SEED = """
INSERT INTO threads (tenant, thread, generation, subject, title, created_at, updated_at, turns, checkpoints, bytes)
SELECT 'default', 'thread-' || n, n, 'user-' || n %% 5000, 'About ' || n, n, n * 7919 %% 1000003, 3, 9, 4000
FROM generate_series(1, %(count)s) n;
"""
_SEED_TAGS = """
INSERT INTO thread_tags (tenant, thread, tag)
SELECT 'default', 'thread-' || n, 'tag-' || n %% 7 FROM generate_series(1, %(count)s) n;
"""


def play(url: str) -> Generator[Any, str, None]:
    """Measure the milliseconds of a "list", or of an empty round "trip"."""
    with Memory.open(url) as memory, psycopg.connect(url, autocommit=True, prepare_threshold=0) as connection:
        question = yield None
        while True:
            start = time.perf_counter()
            for _ in range(20):
                if question == "list":
                    assert len(memory.threads.list(limit=20).threads) == 20
                else:
                    connection.execute("SELECT 1").fetchall()
            question = yield (time.perf_counter() - start) * 1000 / 20


def relations(plan: Any) -> Iterator[tuple[str, str]]:
    """Yield the kind of node and the relation of every node of a plan that reads one."""
    if "Relation Name" in plan:
        yield plan["Node Type"], plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from relations(part)


def _seed(url: str, count: int) -> None:
    with psycopg.connect(postgres.owner(url), autocommit=True) as admin:
        admin.execute(_SEED, {"count": count})
        admin.execute(_SEED_TAGS, {"count": count})
        admin.execute("VACUUM ANALYZE")


def _plan(url: str) -> list[str]:
    given = {"tenant": "default", "updated_at": 2**62, "after": "", "limit": 21, "status": None, "tag": None}
    sql = statements.numbered()["thread_page"]
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('perdure.tenant', 'default', true)")
        row = connection.execute(f"EXPLAIN (FORMAT JSON) {sql}".encode(), {**given, "title": None}).fetchone()
    assert row is not None
    return [f"{node}: {relation}" for node, relation in relations(row[0][0]["Plan"])]


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:  # noqa: ARG001 - one interface
    """Return one row: the listing beside two empty round trips."""
    count, rounds = (10_000, 3) if quick else (100_000, 7)
    tell(f"making {count:,} threads")
    url = postgres.database("perdure")
    _seed(url, count)
    plan = _plan(url)
    assert plan
    assert all(part.split(": ")[1] in {"threads", "thread_tags"} for part in plan), plan
    assert not any(part.startswith("Seq Scan") for part in plan), plan
    tell("listing")
    found: dict[str, list[float]] = {"trips": [], "perdure": []}
    with started({"perdure": (play, url)}) as workers:
        for _ in range(rounds):
            found["trips"].append(2 * workers["perdure"].measure("trip"))
            found["perdure"].append(workers["perdure"].measure("list"))
    name, notes = "two empty round trips", {"reads": plan}
    return [Row(f"20 of {count:,} threads", "ms", found, base="trips", base_name=name, notes=notes)]
