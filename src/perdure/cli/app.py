"""The command line: its commands put together."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from perdure.cli import checks, items, moving, namespaces, searches, threads, upkeep, whys
from perdure.cli.commands import command
from perdure.cli.demo import demo
from perdure.cli.edge import leave

__all__ = ["app", "main"]

app = typer.Typer(
    help="Memory for LangGraph agents, looked at from the command line.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"perdure {metadata.version('perdure')}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Memory for LangGraph agents, looked at from the command line."""


command(app, "demo")(demo)
checks.add(threads.app)
app.add_typer(threads.app)
searches.add(items.app)
namespaces.add(items.app)
app.add_typer(items.app)
whys.add(app)
upkeep.add(app)
moving.add(app)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and leave the process: 0, 1 for an error, 2 for wrong usage."""
    leave(app, args)
