"""What commands say: data on stdout, as text or as one JSON envelope; everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.text import Text

from perdure.core import text
from perdure.errors import PerdureError

__all__ = ["Line", "Misuse", "Reply", "consent", "emit", "envelope", "fail", "note", "progress", "size", "table"]

Line = str | Text
_USAGE_STATUS = 400


class Misuse(typer.TyperException):
    """A command that was called wrongly; its message says how it is meant."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command found: `data` for programs, `lines` for people, and where its listing goes on.

    With a `problem` the command ends as failed, though it has something to show.
    """

    data: Any
    lines: Sequence[Line] = field(default=())
    next: str | None = None
    problem: PerdureError | None = None


def emit(command: str, reply: Reply, *, as_json: bool) -> None:
    """Print a reply."""
    if as_json:
        print(envelope(command, reply))
        return
    console = Console(highlight=False, markup=False, emoji=False)
    for line in reply.lines:
        console.print(line, soft_wrap=True)
    if reply.next is not None:
        note(f"there is more: --cursor {reply.next}")
    if reply.problem is not None:
        note(f"Error: {reply.problem}")


def envelope(command: str, reply: Reply) -> str:
    """Return the JSON of a reply."""
    found: dict[str, Any] = {"ok": reply.problem is None, "command": command, "data": reply.data, "next": reply.next}
    if reply.problem is not None:
        found["error"] = _error(reply.problem)
    return _dump(found)


def fail(error: PerdureError | typer.TyperException, *, as_json: bool) -> None:
    """Print an error: one sentence on stderr, or its envelope on stdout."""
    if as_json:
        print(_dump({"ok": False, "error": _error(error)}))
    else:
        message = _message(error)
        note(message if message.startswith("Usage:") else f"Error: {message}")


def _error(error: PerdureError | typer.TyperException) -> dict[str, Any]:
    if isinstance(error, PerdureError):
        return {"code": error.code, "message": str(error), "status": error.status}
    return {"code": "usage", "message": _message(error), "status": _USAGE_STATUS}


def _message(error: PerdureError | typer.TyperException) -> str:
    if isinstance(error, PerdureError):
        return str(error)
    message = error.format_message()
    return (
        message if isinstance(error, Misuse) or "\n" in message else f"{message} 'perdure --help' lists the commands."
    )


def _dump(found: object) -> str:
    return text.json_safe(json.dumps(found, ensure_ascii=False, indent=2))


def note(said: str) -> None:
    """Tell the person at the terminal something that is no data."""
    print(text.block(said), file=sys.stderr)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar of counts on a terminal's stderr, and nothing elsewhere; it is told how many more are done."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)


def consent(question: str, *, yes: bool, as_json: bool) -> None:
    """Go on only if a person agrees, or has agreed with --yes. Raises a usage error where nobody can be asked."""
    if yes:
        return
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Misuse(f"{question} Nothing was changed: repeat it with --yes, or look first with --dry-run.")
    typer.confirm(text.inline(question), abort=True, err=True)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[Line]:
    """Return aligned lines that cut nothing off; cells are made safe here."""
    cells = [[text.inline(str(cell)) for cell in row] for row in rows]
    widths = [max(cell_len(row[at]) for row in (list(head), *cells)) for at in range(len(head))]
    return [Text(_aligned(head, widths), style="bold"), *[_aligned(row, widths) for row in cells]]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
    return "  ".join(padded).rstrip()


def size(count: int) -> str:
    """Return a number of bytes for people."""
    if count < 1000:
        return f"{count} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6)):
        if count < scale * 1000:
            return f"{count / scale:.1f} {unit}"
    return f"{count / 1e9:.1f} GB"
