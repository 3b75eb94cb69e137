"""`perdure setup`, `stats` and `doctor`: a database made, counted and checked."""

from __future__ import annotations

import dataclasses
import platform
from importlib import metadata
from typing import Annotated, Any

import typer

from perdure import errors
from perdure.cli import output, text, threads, totals
from perdure.cli.commands import Run, command
from perdure.cli.output import Line, Reply
from perdure.engine import statements
from perdure.memory import Memory

__all__ = ["add"]

_PACKAGES = ("perdure", "apsw", "langgraph", "langgraph-checkpoint", "langchain")


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "stats")(stats)
    command(app, "setup", shared=("db", "as_json"))(setup)
    command(app, "doctor", shared=("db", "as_json"))(doctor)


def setup(
    run: Run, *, show: Annotated[bool, typer.Option("--print", help="Print the SQL; touch nothing.")] = False
) -> Reply:
    """Make a database, or bring one up to date."""
    if show:
        found = statements.migrations("sqlite")
        data = [{"name": name, "sql": sql} for name, sql in found]
        return Reply(data, [f"-- {name}\n{sql}" for name, sql in found])
    with Memory.open(run.url) as memory:
        applied = list(memory.engine.applied)
    return Reply({"url": run.url, "applied": applied}, [f"applied: {name}" for name in applied] or ["up to date"])


def stats(
    run: Run,
    *,
    thread: Annotated[str | None, typer.Option("--thread", metavar="ID", help="Count one thread only.")] = None,
) -> Reply:
    """Count what a tenant, or one thread, holds."""
    with run.memory() as (memory, calls):
        if thread is not None:
            return _of_thread(memory, thread)
        found = totals.of_tenant(calls)
    lines: list[Line] = [
        text.inline(f"tenant: {found['tenant']}, threads: {found['threads']}, items: {found['items']}")
    ]
    lines += [f"file: {output.size(found['file_bytes'])}, of threads {output.size(found['thread_bytes'])}", ""]
    return Reply(found, [*lines, *output.table(["table", "rows"], found["rows"].items())])


def _of_thread(memory: Memory, thread: str) -> Reply:
    found = memory.threads.stats(thread)
    data = dataclasses.asdict(found) | {"thread": threads.described(found.thread)}
    rows: list[list[Any]] = [
        ["checkpoints", found.checkpoints, output.size(found.checkpoint_bytes)],
        ["pending writes", found.writes, output.size(found.write_bytes)],
        *[[f"entries of {c.channel}", c.entries, output.size(c.bytes)] for c in found.channels],
    ]
    head = text.inline(f"{thread}: {found.thread.turns} turns, {found.namespaces} checkpoint namespaces")
    return Reply(
        data | {"channels": list(data["channels"])}, [head, "", *output.table(["what", "rows", "bytes"], rows)]
    )


def doctor(run: Run) -> Reply:
    """Check the database, and say what to do where something is wrong."""
    found = [("python", True, platform.python_version()), *[(p, True, metadata.version(p)) for p in _PACKAGES]]
    try:
        with run.memory() as (memory, _):
            found += memory.engine.check()
    except errors.PerdureError as error:
        found.append(("database", False, str(error)))
    wrong = [what for what, right, _ in found if not right]
    problem = errors.DatabaseError(f"something is wrong with: {', '.join(wrong)}") if wrong else None
    rows = [["ok" if right else "WRONG", what, seen] for what, right, seen in found]
    data = [{"what": what, "ok": right, "detail": seen} for what, right, seen in found]
    return Reply(data, output.table(["", "what", "found"], rows), problem=problem)
