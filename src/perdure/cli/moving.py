"""`perdure import` and `export`: threads and items moved between databases, each state compared."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from perdure import errors, moving
from perdure.cli import loading, output
from perdure.cli.commands import Run, command
from perdure.cli.output import Line, Reply
from perdure.core import text
from perdure.engine import urls

__all__ = ["add"]

_import = typer.Typer(name="import", help="Take threads and items in from another database.", no_args_is_help=True)
_export = typer.Typer(name="export", help="Write threads and items into another database.", no_args_is_help=True)

Source = Annotated[str, typer.Option("--from", metavar="URL", help="The database to read.")]
Threads = Annotated[list[str] | None, typer.Option("--thread", metavar="ID", help="Only this thread; repeat for more.")]
Types = Annotated[
    list[str] | None, typer.Option("--types", metavar="MODULE:CLASS", help="A class in values; repeat for more.")
]


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(_import)
    app.add_typer(_export)


@command(_import, "langgraph")
def import_langgraph(run: Run, *, source: Source, thread: Threads = None, types: Types = None) -> Reply:
    """Import what LangGraph's own savers and stores have kept.

    Without --thread, items too. Repeat it after an interruption: it goes on, and passes over what is there and equal.
    """
    codec = moving.OpaqueCodec(_loaded(types))
    _refuse_same(source, run.url)
    with moving.StockSource(source, codec) as found, run.opened(create=True) as memory:
        return _moved(found, moving.OurTarget(memory, codec, run.tenant), thread)


@command(_import, "perdure")
def import_perdure(
    run: Run,
    *,
    source: Source,
    from_schema: Annotated[
        str | None, typer.Option("--from-schema", metavar="NAME", help="PostgreSQL: the schema to read.")
    ] = None,
    thread: Threads = None,
) -> Reply:
    """Import one tenant's threads and items from another database of Perdure's.

    Without --thread, items too. Repeat it after an interruption: it goes on, and passes over what is there and equal.
    """
    codec = moving.OpaqueCodec()
    _refuse_same(source, run.url)
    read = Run(run.command, db=source, schema=from_schema)
    with read.opened(create=False) as old, run.opened(create=True) as new:
        found = moving.OurSource(old, codec, run.tenant)
        return _moved(found, moving.OurTarget(new, codec, run.tenant), thread)


@command(_export, "langgraph")
def export_langgraph(
    run: Run,
    *,
    target: Annotated[str, typer.Option("--to", metavar="URL", help="The database to write.")],
    thread: Threads = None,
    types: Types = None,
) -> Reply:
    """Write everything into the tables of LangGraph's own savers and stores.

    Without --thread, items too. Repeat it after an interruption: it goes on, and passes over what is there and equal.
    """
    codec = moving.OpaqueCodec(_loaded(types))
    _refuse_same(target, run.url)
    with run.memory() as (memory, _), moving.StockTarget(target, codec) as stock:
        return _moved(moving.OurSource(memory, codec, run.tenant), stock, thread)


def _moved(source: Any, target: Any, threads: list[str] | None) -> Reply:
    counts = dict(source.threads())
    total = sum(counts.get(thread, 0) for thread in threads) if threads else sum(counts.values())
    with output.progress("checkpoints", total) as tell:
        report = moving.move(source, target, threads=threads or None, tell=tell)
    data = asdict(report.counts) | {
        "failures": [{"what": f.what, "code": f.error.code, "message": str(f.error)} for f in report.failures],
        "notes": report.notes,
    }
    return Reply(data, _lines(report), problem=_problem(report))


def _lines(report: moving.Report) -> list[Line]:
    counts = report.counts
    lines: list[Line] = [
        f"threads: {counts.threads} moved, {counts.threads_there} there already",
        f"checkpoints: {counts.checkpoints}, pending writes: {counts.writes}, each compared with its source",
        f"items: {counts.items} moved, {counts.items_there} there already",
    ]
    lines += [text.inline(note) for note in report.notes]
    return lines + [text.inline(f"not moved: {f.what}: {f.error}") for f in report.failures]


def _problem(report: moving.Report) -> errors.PerdureError | None:
    if not report.failures:
        return None
    first = report.failures[0].error
    if len(report.failures) == 1:
        return first
    return type(first)(f"{len(report.failures)} threads or items were not moved; the first: {first}")


def _loaded(names: list[str] | None) -> list[type]:
    """Return the classes that --types names."""
    return [_class(name) for name in names or ()]


def _class(name: str) -> type:
    found = loading.named(name, "--types", "app.state:Order")
    if not isinstance(found, type):
        raise output.Misuse(f"--types {name} is no class.")
    return found


def _refuse_same(one: str, other: str) -> None:
    """Refuse to read and write one SQLite file; one PostgreSQL may hold both."""
    both = urls.kind(one) == urls.kind(other) == "sqlite"
    if both and _file(one) == _file(other):
        raise errors.InvalidUrlError("both URLs name the same file; write into another one")


def _file(url: str) -> Path:
    return Path(url.partition("?")[0].removeprefix("sqlite:///")).resolve()
