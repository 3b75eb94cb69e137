"""`perdure why`: what a model call saw, and why it did not know something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from perdure.cli import output
from perdure.cli.commands import Run, command
from perdure.cli.output import Line, Reply
from perdure.core import text
from perdure.model import Why

__all__ = ["add"]


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "why")(why)


def why(
    run: Run,
    *,
    thread: Annotated[str, typer.Option("--thread", metavar="ID", help="The thread.")],
    about: Annotated[
        str | None, typer.Option("--about", metavar="TEXT", help="What it should have known, in the words it was said.")
    ] = None,
    step: Annotated[int | None, typer.Option("--step", help="The step of the model call; the last, if none.")] = None,
) -> Reply:
    """Say what a model call saw, and why it did not know something."""
    with run.memory() as (memory, _):
        found = memory.why(thread, about=about, step=step)
    data = {"cause": found.cause, "text": found.text, "call": found.call, "more": found.more}
    return Reply(data, [text.inline(f"{found.cause}: {found.text}"), *_call(found)])


def _call(found: Why) -> Iterator[Line]:
    """Yield what a model call saw."""
    call = found.call
    if call is None:
        return
    tokens = call["tokens"]
    yield ""
    yield text.inline(f"model call of step {call['step']}, {call['at'][:19].replace('T', ' ')}")
    rows = [[name, tokens[name]] for name in ("system", "tools", "profile", "summary", "memories", "turns", "total")]
    yield from output.table(["part", "tokens"], rows)
    ranges = ", ".join(f"{first}-{last}" if first != last else str(first) for first, last in call["seen"])
    number = sum(last - first + 1 for first, last in call["seen"])
    yield text.inline(f"messages seen: {number} of {call['state']}" + (f", at {ranges}" if ranges else ""))
    for note in call["notes"]:
        yield text.inline(_note(note))


def _note(note: Mapping[str, Any]) -> str:
    facts = ", ".join(f"{name} {_fact(value)}" for name, value in note.items() if name != "part" and value != [])
    return f"{note['part']}: {facts}"


def _fact(value: object) -> str:
    if isinstance(value, list):
        return " ".join(
            f"{one[0]} ({one[1]:.3f})" if isinstance(one, list) and isinstance(one[1], float) else str(one)
            for one in value
        )
    return str(value)
