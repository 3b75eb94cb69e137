"""The edge of a process: errors become sentences or envelopes, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from perdure.cli import output
from perdure.errors import PerdureError

__all__ = ["leave"]

_FAILED, _INTERRUPTED, _NOBODY_READS = 1, 130, 141


def leave(app: typer.Typer, args: Sequence[str] | None = None) -> None:
    """Run a command and leave the process: 0, 1 for an error, 2 for wrong usage."""
    given = sys.argv[1:] if args is None else list(args)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(app, given)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _NOBODY_READS
    sys.exit(code)


def _run(app: typer.Typer, args: list[str]) -> int:
    as_json = "--json" in args
    try:
        return app(args, prog_name="perdure", standalone_mode=False) or 0
    except PerdureError as error:
        output.fail(error, as_json=as_json)
    except typer.TyperException as error:
        output.fail(error, as_json=as_json)
        return error.exit_code
    except typer.Abort:
        output.note("Nothing was changed.")
    except KeyboardInterrupt:
        return _INTERRUPTED
    return _FAILED
