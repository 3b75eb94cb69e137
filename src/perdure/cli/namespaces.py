"""`perdure items tree`, `count`, `mv` and `cp`: namespaces as a whole."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli import output
from perdure.cli.commands import DryRun, Run, Yes, command
from perdure.cli.items import namespace_of, shown
from perdure.cli.output import Line, Reply
from perdure.core import text

__all__ = ["add"]

Prefix = Annotated[str, typer.Argument(metavar="[NAMESPACE]", help="Only it and those below it.")]
Source = Annotated[str, typer.Argument(metavar="SOURCE", help="Labels as a/b, or as a JSON list.")]
Target = Annotated[str, typer.Argument(metavar="TARGET", help="Labels as a/b, or as a JSON list.")]
Depth = Annotated[int | None, typer.Option("--depth", help="Count what lies deeper with its ancestor.")]


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "tree")(tree)
    command(app, "count")(count)
    command(app, "mv")(mv)
    command(app, "cp")(cp)


def tree(run: Run, namespace: Prefix = "", *, depth: Depth = None) -> Reply:
    """Show the namespaces that hold items, with how many."""
    with run.memory() as (memory, _):
        counts = memory.store.namespace_counts(namespace_of(namespace), max_depth=depth)
    data = [{"namespace": list(labels), "items": count} for labels, count in counts.items()]
    return Reply(data, _branches(counts) or ["no items"])


def _branches(counts: dict[tuple[str, ...], int]) -> list[Line]:
    """Return a line for each label, below the one it belongs to; a number where it holds items itself."""
    lines: list[Line] = []
    seen: tuple[str, ...] = ()
    for labels, count in counts.items():
        common = next((at for at, (a, b) in enumerate(zip(seen, labels, strict=False)) if a != b), len(seen))
        for at in range(common, len(labels)):
            number = f"  {count}" if at == len(labels) - 1 else ""
            lines.append(text.inline("  " * at + labels[at] + number))
        seen = labels
    return lines


def count(run: Run, namespace: Prefix = "") -> Reply:
    """Count the items in a namespace and those below it."""
    labels = namespace_of(namespace)
    with run.memory() as (memory, _):
        found = memory.store.count(labels)
    return Reply({"namespace": list(labels), "items": found}, [str(found)])


def mv(run: Run, source: Source, target: Target, *, dry_run: DryRun = False, yes: Yes = False) -> Reply:
    """Move all items of a namespace, and of those below it, to another; with their history and vectors."""
    return _transferred(run, "move", source, target, dry_run=dry_run, yes=yes)


def cp(run: Run, source: Source, target: Target, *, dry_run: DryRun = False) -> Reply:
    """Copy all items of a namespace, and of those below it, to another; with their vectors."""
    return _transferred(run, "copy", source, target, dry_run=dry_run, yes=True)


def _transferred(run: Run, way: str, source: str, target: str, *, dry_run: bool, yes: bool) -> Reply:
    old, new = namespace_of(source), namespace_of(target)
    with run.memory() as (memory, _):
        count = memory.store.count(old)
        if not dry_run:
            question = f"{way.capitalize()} {count} items from {shown(old)} to {shown(new)}?"
            output.consent(question, yes=yes, as_json=run.as_json)
            count = memory.store.move(old, new) if way == "move" else memory.store.copy(old, new)
    did = {"move": "moved", "copy": "copied"}[way]
    said = f"would be {did}" if dry_run else did
    data = {"dry_run": dry_run, "items": count, "source": list(old), "target": list(new)}
    return Reply(data, [text.inline(f"{count} items {said}: {shown(old)} to {shown(new)}")])
