"""Measure: python -m benchmarks [--quick] [--only NAME] [--profile NAME]."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console

from benchmarks import (
    context,
    disk,
    figures,
    history,
    images,
    items,
    locomo,
    pg_calls,
    pg_catalogue,
    pg_history,
    pg_items,
    pg_storage,
    pg_trips,
    pg_turns,
    processes,
    profiles,
    puts,
    recall,
    results,
    storage,
    tables,
    turns,
)

_SQLITE = (storage, turns, history, puts, processes, images)
_POSTGRES = (pg_storage, pg_turns, pg_history, pg_calls, pg_catalogue, pg_trips)
_ITEMS = (items, pg_items, recall)
_CONTEXT = (context,)
_ASKED_FOR = (locomo,)
"""What is measured only with --only: it needs something that is not part of the project."""
_ALWAYS = (*_SQLITE, *_POSTGRES, *_ITEMS, *_CONTEXT)
_MEASUREMENTS: dict[str, ModuleType] = {module.NAME: module for module in (*_ALWAYS, *_ASKED_FOR)}
_BUILD = results.FOLDER.parent / "build"


def main() -> int:
    """Measure what was asked for, print it, and keep it unless it was only a quick look."""
    options = _options()
    _BUILD.mkdir(exist_ok=True)
    if options.profile:
        with _folder() as folder:
            profiles.profile(options.profile, Path(folder), slow=options.slow)
        return 0
    with _folder() as folder:
        found = {"machine": results.machine(disk.syncs_per_second(Path(folder), 1.0)), "measurements": {}}
    for name in options.only or [module.NAME for module in _ALWAYS]:
        if name == locomo.NAME and (why := locomo.unavailable()):
            print(why)
            continue
        found["measurements"][name] = _measure(_MEASUREMENTS[name], quick=options.quick)
        tables.show(Console(width=_width()), found["measurements"][name])
    if not options.quick:
        _keep(found, whole=not options.only)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it runs; keeps nothing")
    parser.add_argument("--only", action="append", choices=list(_MEASUREMENTS), help="measure these, keep the others")
    parser.add_argument("--profile", choices=list(profiles.PROFILES), help="print where Perdure's time goes instead")
    parser.add_argument("--slow", action="store_true", help="with --profile: on a disk whose sync takes 4 ms")
    return parser.parse_args()


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder on the project's own disk: the usual place may be memory, where a sync costs nothing."""
    return tempfile.TemporaryDirectory(prefix="bench-", dir=_BUILD)


def _width() -> int | None:
    return None if sys.stdout.isatty() else 160


def _measure(module: ModuleType, *, quick: bool) -> dict[str, Any]:
    start, load = time.perf_counter(), os.getloadavg()[0]
    console = Console(stderr=True)
    with _folder() as folder, console.status(module.NAME) as status:
        rows = module.measure(Path(folder), _teller(console, status, module.NAME), quick=quick)
    return results.measured(module.TITLE, rows, time.perf_counter() - start, load)


def _teller(console: Console, status: Any, name: str) -> Callable[[str], None]:
    def tell(what: str) -> None:
        if console.is_terminal:
            status.update(f"{name}: {what}")
        else:
            console.print(f"{name}: {what}")

    return tell


def _keep(found: dict[str, Any], *, whole: bool) -> None:
    before = results.load()
    kept = found if whole else before
    if whole:
        kept["measurements"] |= {name: one for name, one in before["measurements"].items() if name == locomo.NAME}
    else:
        kept["machine"] = kept["machine"] or found["machine"]
        kept["measurements"] |= found["measurements"]
    # In the order of the program, whichever ran last.
    kept["measurements"] = {name: kept["measurements"][name] for name in _MEASUREMENTS if name in kept["measurements"]}
    results.save(kept)
    if {module.NAME for module in _SQLITE} <= kept["measurements"].keys():
        figures.write()


if __name__ == "__main__":
    sys.exit(main())
