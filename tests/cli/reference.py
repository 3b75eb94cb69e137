"""The page of the command line, made from its own help: `python -m tests.cli.reference` writes it anew."""

import contextlib
import io
from pathlib import Path

import typer.main

from perdure.cli.app import app

PAGE = Path(__file__).parents[2] / "docs/reference/cli.md"

HEAD = """\
# The command line

`perdure COMMAND …`, or `python -m perdure.cli COMMAND …`. Data goes to stdout, progress and errors to stderr.

- **The database** is named by `--db` or `PERDURE_URL`: `sqlite:///agent.db`, with four slashes for an absolute path, or
  `postgresql://user@host:5432/database`, in the schema of `--schema` or `PERDURE_SCHEMA`. Only `demo`, `setup` and
  `import` make one; every other command says what to do if there is none. A password in a URL is never shown.
- **`--tenant`** chooses whose data; `default` if left out.
- **`--json`** prints one envelope: `{"ok": true, "command": "threads ls", "data": …, "next": CURSOR}`, where `next`
  goes into `--cursor` of the same command and is `null` at the end; or
  `{"ok": false, "error": {"code": …, "message": …, "status": …}}` with the codes of the [errors](errors.md). Where a
  command has something to show although it failed, as `doctor` does, both are in it.
- **Exit codes**: 0; 1 for an error; 2 for wrong usage.
- **What destroys** (`rm`) asks at a terminal, and elsewhere does nothing without `--yes`. `--dry-run` says what would
  be removed.
- **What was stored is shown safely.** Control, zero-width, bidirectional and tag characters appear as `\\u200b`; in
  JSON too, where that means the same. Values of your classes are shown with their class's name (`$type`), and
  need not be there; bytes as `$bytes`, tuples as `$tuple`, and so on. Long values are cut in text, never in JSON.
- **A checkpoint** is named by its id, as `latest`, or counted from the end: `-1` is the latest, `-2` the one before.
- `NO_COLOR` is honoured. Reading moves no item's end and changes nothing else.
"""


def commands():
    """Return the words of every command, groups before what is in them."""
    found = []
    for name, command in typer.main.get_command(app).commands.items():
        found.append((name,))
        found += [(name, inner) for inner in getattr(command, "commands", {})]
    return found


def help_of(words):
    """Return the help of a command as a terminal of 80 columns shows it."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        app([*words, "--help"], prog_name="perdure", standalone_mode=False, terminal_width=80)
    return printed.getvalue()


def render():
    """Return the page."""
    parts = [HEAD]
    for words in commands():
        name = " ".join(words)
        parts.append(f"{'#' * (1 + len(words))} perdure {name}\n\n```text\n{help_of(words).strip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
