"""`perdure setup`, `stats` and `doctor`: a database made, counted and checked."""

from __future__ import annotations

import dataclasses
import platform
from importlib import metadata
from typing import Annotated, Any

import typer

from perdure import errors, settings
from perdure.cli import inspection, output, threads, totals
from perdure.cli.commands import Run, command
from perdure.cli.output import Line, Reply
from perdure.core import text
from perdure.engine import Finding, engines, migrate, roles, statements, urls
from perdure.memory import Memory

__all__ = ["add"]

_PACKAGES = ("perdure", "apsw", "langgraph", "langgraph-checkpoint", "langchain")


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "stats")(stats)
    command(app, "sweep")(sweep)
    command(app, "inspect")(inspection.inspect)
    command(app, "setup", shared=("db", "schema", "as_json"))(setup)
    command(app, "doctor", shared=("db", "schema", "as_json"))(doctor)


def setup(
    run: Run,
    *,
    role: Annotated[
        str | None, typer.Option("--role", metavar="NAME", help="PostgreSQL: make a role for the application.")
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print the SQL; touch nothing.")] = False,
) -> Reply:
    """Make a database, or bring one up to date.

    With --role, also make a role for the application and grant it what it needs: it owns nothing, so the walls between
    tenants hold it. --print shows the SQL for the database that --db names, or for SQLite.
    """
    kind = urls.kind(settings.named_url(run.db) or "sqlite://")
    if role is not None and kind != "postgres":
        raise errors.ConfigurationError("--role is PostgreSQL's: name the database with --db postgresql://…")
    if show:
        return _script(kind or urls.kind(run.url), run.place, role)
    with run.opened(create=True) as memory:
        applied = list(memory.engine.applied)
    granted = [] if role is None else engines.make_role(run.url, role, schema=run.place)
    lines = [f"applied: {name}" for name in applied] or ["up to date"]
    if role is not None:
        lines += [*(f"{statement};" for statement in granted), f"next: {_password(role)}"]
    return Reply(
        {"url": run.shown, "applied": applied, "role": role, "granted": granted}, list(map(text.inline, lines))
    )


def _password(role: str) -> str:
    quoted = statements.quoted(role, "a role")
    return f"give the role a password, with \\password {quoted} in psql or ALTER ROLE {quoted} PASSWORD '…'"


def _script(kind: str | None, schema: str | None, role: str | None) -> Reply:
    """Return the SQL that sets up an empty database."""
    found = migrate.script(kind or "sqlite", schema)
    if role is not None:
        granting = "".join(f"{statement};\n" for statement in roles.grants(role, schema))
        found.append(("role", f"-- Leave the first line out if the role is there. Then {_password(role)}.\n{granting}"))
    data = [{"name": name, "sql": sql} for name, sql in found]
    return Reply(data, [f"-- {name}\n{text.block(sql)}" for name, sql in found])


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
    lines += [f"database: {output.size(found['database_bytes'])}, of threads {output.size(found['thread_bytes'])}", ""]
    return Reply(found, [*lines, *output.table(["table", "rows"], found["rows"].items())])


def sweep(run: Run) -> Reply:
    """Remove items, and versions of items, that have expired.

    An application that has the database open does this itself, unless it was told not to; then call this regularly.
    Without --tenant, it is done for all tenants.
    """
    with run.memory() as (memory, _):
        count = memory.store.sweep()
    return Reply({"swept": count}, [f"{count} swept"])


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
    """Check the database, and say what to do where something is wrong.

    On PostgreSQL, check it with the URL that the application uses: the role is looked at too. Nothing is changed.
    """
    found = [Finding.ok("python", platform.python_version())]
    found += [Finding.ok(package, metadata.version(package)) for package in _PACKAGES]
    try:
        found += engines.check(run.url, schema=run.place)
    except errors.PerdureError as error:
        found.append(Finding.wrong("database", str(error)))
    wrong = [finding.what for finding in found if not finding.right]
    problem = errors.DatabaseError(f"something is wrong with: {', '.join(wrong)}") if wrong else None
    rows = [[_level(finding), finding.what, finding.seen] for finding in found]
    data = [{"what": f.what, "ok": f.right, "note": f.note, "detail": f.seen} for f in found]
    return Reply(data, output.table(["", "what", "found"], rows), problem=problem)


def _level(finding: Finding) -> str:
    return "WRONG" if not finding.right else "note" if finding.note else "ok"
