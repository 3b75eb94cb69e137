"""`perdure threads check`: whether the newest state of every thread can be read, and which version it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

import typer
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import CheckpointTuple

from perdure import errors
from perdure.cli import loading, output, states, totals
from perdure.cli.commands import Run, command
from perdure.cli.output import Line, Misuse, Reply
from perdure.core import conversations, shapes, text, threads
from perdure.core.codec import Codec
from perdure.core.entries import Caches
from perdure.core.shapes import Shape
from perdure.langgraph.calls import Calls
from perdure.memory import Memory

__all__ = ["add"]

_SHOWN = 100
_CONVERSATION = "invalid_conversation"
_NEXT = {
    "unknown_type": "name the class, or the graph whose state has it, with --register MODULE:NAME",
    "corrupt_value": "look at the database with 'perdure doctor', and restore it from a backup",
    "state_version": "open with the schema_version and migrations that the message names",
    "state_migration": "correct the function",
    _CONVERSATION: "correct it with update_state: remove an AI message together with the results of its calls",
}


def add(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "check")(check)


@dataclass(frozen=True, slots=True)
class _Problem:
    thread: str
    schema_version: int | None
    code: str
    message: str
    next: str

    @property
    def unread(self) -> bool:
        return self.code != _CONVERSATION


@dataclass(slots=True)
class _Found:
    """What was seen of all threads so far. `versions` counts them by the version of their newest state."""

    versions: Counter[int] = field(default_factory=Counter)
    count: int = 0
    empty: int = 0
    problems: list[_Problem] = field(default_factory=list)

    @property
    def unread(self) -> int:
        return sum(problem.unread for problem in self.problems)


class _Reader:
    """Reads newest states: as they are stored, as a program of the wanted version would, and, for the version, opaque.

    `wanted`: the newest version that may be there; None: any.
    """

    def __init__(self, looking: Calls, types: list[Any], wanted: int | None, shape: Shape | None) -> None:
        calls = replace(looking, codec=Codec(), caches=Caches())
        self._stored = Memory(calls)
        self._stored.register(*types)
        self._opaque = Memory(looking)
        self._migrated = Memory(replace(calls, shape=shape)) if shape is not None else None
        self._wanted = wanted

    def look(self, thread: str, found: _Found) -> None:
        """Add what a thread's newest state is like."""
        found.count += 1
        version: int | None = None
        try:
            version = self._version(thread)
            if version is None:
                found.empty += 1
                return
            found.versions[version] += 1
            state = self._read(thread, version)
        except errors.StoredValueError as error:
            found.problems.append(_Problem(thread, version, error.code, str(error), _NEXT.get(error.code, "")))
            return
        wrong = _conversation(state)
        if wrong:
            found.problems.append(_Problem(thread, version, _CONVERSATION, wrong, _NEXT[_CONVERSATION]))

    def _version(self, thread: str) -> int | None:
        """Return the version of a thread's newest state, None if it has no state of its own."""
        raw = self._opaque.checkpointer.get_tuple(states.config_for(thread))
        return None if raw is None else shapes.version_of(raw.checkpoint, f"thread {thread!r}")

    def _read(self, thread: str, version: int) -> CheckpointTuple | None:
        if self._migrated is not None:
            return self._migrated.checkpointer.get_tuple(states.config_for(thread))
        if self._wanted is not None and version > self._wanted:
            raise errors.StateVersionError(
                f"thread {thread!r} has a state of version {version}, newer than {self._wanted}: "
                f"deploy the code that opens it with schema_version={version}",
                stored=version,
                opened=self._wanted,
            )
        return self._stored.checkpointer.get_tuple(states.config_for(thread))


def _conversation(found: CheckpointTuple | None) -> str:
    """Return what is wrong with a state's messages; nothing if they are no list of messages."""
    said = found.checkpoint["channel_values"].get("messages") if found is not None else None
    if found is None or type(said) is not list or not all(isinstance(message, BaseMessage) for message in said):
        return ""
    problems = conversations.validate(said, unfinished=bool(states.next_nodes(found) or found.pending_writes))
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f"messages are no valid conversation: {problems[0]}{more}" if problems else ""


def check(
    run: Run,
    *,
    version: Annotated[
        int | None, typer.Option("--schema-version", metavar="N", help="The version that the program works with.")
    ] = None,
    migrations: Annotated[
        str | None, typer.Option("--migrations", metavar="MODULE:NAME", help="Its migrations, to try them.")
    ] = None,
    register: Annotated[
        list[str] | None,
        typer.Option("--register", metavar="MODULE:NAME", help="A graph or class of the program; repeat for more."),
    ] = None,
) -> Reply:
    """Check that the newest state of every thread of a tenant can be read.

    Counts the versions of the states, and lists those that can't be read, because they are newer, of classes that were
    not named, or damaged; with --migrations, also those that no migration leads on from, or that one fails with. Lists
    messages that are no valid conversation, too. Nothing is changed.
    """
    shape = _shape(version, migrations)
    types = [loading.named(name, "--register", "app.graphs:graph") for name in register or ()]
    found = _Found()
    with run.memory() as (memory, calls):
        reader = _Reader(calls, types, version, shape)
        with output.progress("threads", totals.of_tenant(calls)["threads"]) as tell:
            for thread in _threads(memory):
                reader.look(thread, found)
                tell(1)
    return _reply(found, version, tried=shape is not None)


def _shape(version: int | None, migrations: str | None) -> Shape | None:
    if version is None:
        if migrations is not None:
            raise Misuse("--migrations needs --schema-version N, the version that they lead to.")
        return None
    given = None if migrations is None else loading.named(migrations, "--migrations", "app.shapes:MIGRATIONS")
    shape = Shape.of(version, given)
    return None if migrations is None else shape


def _threads(memory: Memory) -> Iterator[str]:
    cursor: str | None = None
    while True:
        page = memory.threads.list(limit=threads.LARGEST_PAGE, cursor=cursor)
        yield from (thread.id for thread in page.threads)
        cursor = page.cursor
        if cursor is None:
            return


def _reply(found: _Found, wanted: int | None, *, tried: bool) -> Reply:
    needed = list(range(min(found.versions, default=1), wanted)) if wanted is not None else []
    data = {
        "threads": found.count,
        "without_state": found.empty,
        "versions": {str(version): found.versions[version] for version in sorted(found.versions)},
        "migrations_needed": needed,
        "unreadable": found.unread,
        "problems": [asdict(problem) for problem in found.problems],
    }
    problem = (
        errors.StoredValueError(f"{found.unread} of {found.count} threads can't be read") if found.unread else None
    )
    return Reply(data, _lines(found, needed, tried=tried), problem=problem)


def _lines(found: _Found, needed: list[int], *, tried: bool) -> list[Line]:
    lines: list[Line] = [f"{found.count} threads, {found.unread} of them can't be read"]
    if found.versions:
        lines += output.table(["schema version", "threads"], sorted(found.versions.items()))
    if needed:
        named = ", ".join(map(str, needed))
        lines.append(f"migrations needed: from {named}" + ("; they were tried" if tried else ""))
    for problem in found.problems[:_SHOWN]:
        lines += ["", text.inline(problem.message if repr(problem.thread) in problem.message
                                  else f"thread {problem.thread!r}: {problem.message}")]  # fmt: skip
        lines.append(text.inline(f"  next: {problem.next}"))
    if len(found.problems) > _SHOWN:
        lines += ["", f"{len(found.problems) - _SHOWN} more problems; --json lists all"]
    return lines
