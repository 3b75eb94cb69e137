"""`perdure threads`: list conversations, read them, compare their states, fork and remove them."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Annotated, Any

import typer

from perdure import errors
from perdure.cli import conversation, diffs, output, states
from perdure.cli.commands import DryRun, Run, Yes, command
from perdure.cli.output import Line, Reply
from perdure.cli.values import compact, plain
from perdure.core import text
from perdure.core import threads as core
from perdure.model import Said, Thread

__all__ = ["app", "described"]

app = typer.Typer(
    name="threads", help="Conversations: list, show, compare, fork, remove and check them.", no_args_is_help=True
)

Id = Annotated[str, typer.Argument(metavar="ID", help="The thread.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="The threads.")]
Limit = Annotated[int, typer.Option("--limit", help="How many to list, up to 1,000.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Go on where the listing before ended.")]
Ns = Annotated[str, typer.Option("--ns", metavar="CHECKPOINT_NS", help="A subgraph's checkpoint_ns.")]
Checkpoint = Annotated[str, typer.Option("--checkpoint", metavar="ID", help="A checkpoint id, latest, -1, -2, …")]
Named = Annotated[str, typer.Argument(metavar="CHECKPOINT", help="A checkpoint id, latest, -1, -2, …")]

_TIMED = 500
"""Newest checkpoints that are looked at to find out when messages came."""


@command(app, "ls")
def ls(  # noqa: PLR0913 - the filters of one listing
    run: Run,
    *,
    subject: Annotated[str | None, typer.Option("--subject", help="Only those about a subject.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="idle, interrupted, forked or error.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only those with a tag.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Only those whose title holds a text.")] = None,
    limit: Limit = core.PAGE,
    cursor: Cursor = None,
) -> Reply:
    """List threads, newest first."""
    with run.memory() as (memory, _):
        page = memory.threads.list(subject=subject, status=status, tag=tag, title=title, limit=limit, cursor=cursor)
    head = ["thread", "status", "updated", "turns", "size", "subject", "tags", "title"]
    lines = output.table(head, map(_row, page.threads)) if page.threads else ["no threads"]
    return Reply([described(thread) for thread in page.threads], lines, page.cursor)


def _row(thread: Thread) -> list[object]:
    size, tags = output.size(thread.bytes), ",".join(thread.tags)
    when = _second(thread.updated_at.isoformat())
    return [thread.id, thread.status, when, thread.turns, size, thread.subject or "", tags, thread.title or ""]


def described(thread: Thread) -> dict[str, Any]:
    """Return a thread for programs."""
    found = dataclasses.asdict(thread) | {"tags": list(thread.tags)}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in found.items()}


@command(app, "show")
def show(run: Run, thread: Id, *, checkpoint: Checkpoint = "latest", ns: Ns = "") -> Reply:
    """Show a conversation and the rest of its state."""
    with run.memory() as (memory, _):
        found = states.find(memory, thread, ns=ns, name=checkpoint)
        shown = memory.threads.get(thread)
        listed = states.history(memory, states.config_for(thread, ns), limit=_TIMED, cursor=None)
    if shown is None:
        raise core.missing(thread)
    values, about, times = states.channels(found), states.describe(found), states.message_times(listed)
    pending = [
        {"task": task, "channel": channel, "value": plain(value)} for task, channel, value in states.waiting(found)
    ]
    title = f"{thread}: {shown.title}" if shown.title else thread
    lines: list[Line] = [text.inline(title), _headline(shown, about)]
    for name, value in values.items():
        lines += ["", *_channel(name, value, times)]
    lines += [line for write in pending for line in ("", _pending(write))]
    data = {"thread": described(shown), "checkpoint": about, "values": values, "pending": pending, "times": times}
    return Reply(data, lines)


def _headline(thread: Thread, about: dict[str, Any]) -> str:
    parts = [f"{thread.turns} turns", thread.status, f"step {about['step']}", f"checkpoint {about['checkpoint_id']}"]
    if about["next"]:
        parts.append(f"next {', '.join(about['next'])}")
    return text.inline(" · ".join([*parts, _second(about["created_at"])]))


def _channel(name: str, value: Any, times: dict[str, str]) -> list[str]:
    if conversation.is_conversation(value):
        return [f"{text.inline(name)}:", *conversation.transcript(value, times)]
    return [text.inline(f"{name}: {compact(value, 2000)}")]


def _pending(write: dict[str, Any]) -> str:
    what = "waits for an answer to" if write["channel"] == "__interrupt__" else "failed with"
    return text.inline(f"{what}: {compact(write['value'], 2000)}")


@command(app, "transcript")
def transcript(
    run: Run, thread: Id, *, limit: Annotated[int | None, typer.Option("--limit", help="Only the last ones.")] = None
) -> Reply:
    """Show all that was ever said in a thread, and mark what was removed."""
    with run.memory() as (memory, _):
        if memory.threads.get(thread) is None:
            raise core.missing(thread)
        found = memory.history(thread).transcript(limit=limit)
    lines = [line for one in found for line in conversation.said(one)]
    return Reply([_told(one) for one in found], lines or ["no messages"])


def _told(said: Said) -> dict[str, Any]:
    return {"message": plain(said.message), "at": said.at.isoformat(), "step": said.step, "present": said.present}


@command(app, "history")
def history(
    run: Run,
    thread: Id,
    *,
    ns: Ns = "",
    every: Annotated[bool, typer.Option("--all", help="Those of subgraphs too.")] = False,
    limit: Limit = core.PAGE,
    cursor: Cursor = None,
) -> Reply:
    """List a thread's checkpoints, newest first."""
    core.check_limit(limit)
    with run.memory() as (memory, _):
        if memory.threads.get(thread) is None:
            raise core.missing(thread)
        config = states.config_for(thread, None if every else ns)
        found = states.history(memory, config, limit=limit + 1, cursor=cursor) if limit else []
    listed = list(map(states.describe, found[:limit]))
    more = len(found) > limit > 0
    head = ["checkpoint", *(["checkpoint_ns"] if every else []), "step", "source", "created", "next", "changed", ""]
    rows = [_checkpoint_row(about, every=every) for about in listed]
    lines = output.table(head, rows) if rows else ["no checkpoints"]
    return Reply(listed, lines, states.cursor_of(listed[-1]) if more else None)


def _checkpoint_row(about: dict[str, Any], *, every: bool) -> list[object]:
    mark = "interrupted" if about["interrupted"] else "failed" if about["failed"] else ""
    place = [about["checkpoint_ns"]] if every else []
    joined = [", ".join(about[name]) for name in ("next", "changed")]
    return [about["checkpoint_id"], *place, about["step"], about["source"], _second(about["created_at"]), *joined, mark]


@command(app, "diff", context_settings={"ignore_unknown_options": True})
def diff(run: Run, thread: Id, before: Named = "-2", after: Named = "-1", *, ns: Ns = "") -> Reply:
    """Show what changed between two checkpoints.

    Between the last two, if none are named.
    """
    with run.memory() as (memory, _):
        old, new = (states.find(memory, thread, ns=ns, name=name) for name in (before, after))
    changes = list(diffs.between(states.channels(old), states.channels(new)))
    sides = {side: states.describe(found) for side, found in (("before", old), ("after", new))}
    data = {**sides, "changes": [change.plain() for change in changes]}
    return Reply(data, diffs.lines(changes) or ["no difference"])


@command(app, "fork")
def fork(
    run: Run,
    thread: Id,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The id of the new thread.")],
    *,
    checkpoint: Checkpoint = "",
) -> Reply:
    """Copy a thread, or its beginning, to a new thread."""
    with run.memory() as (memory, _):
        found = states.find(memory, thread, name=checkpoint) if checkpoint else None
        named = found.config["configurable"]["checkpoint_id"] if found else None
        made = memory.threads.fork(thread, new, checkpoint_id=named)
    return Reply(described(made), [text.inline(f"{made.id}: {made.checkpoints} checkpoints, like {thread}")])


@command(app, "rm")
def rm(run: Run, ids: Ids, *, dry_run: DryRun = False, yes: Yes = False) -> Reply:
    """Remove threads with everything in them."""
    with run.memory() as (memory, _):
        found = [(name, memory.threads.get(name)) for name in dict.fromkeys(ids)]
        if absent := [name for name, thread in found if thread is None]:
            raise errors.NotFoundError(f"nothing was removed: there is no thread {absent[0]!r} for this tenant")
        threads = [thread for _, thread in found if thread is not None]
        if not dry_run:
            output.consent(f"Remove {_listed(threads)}, for good?", yes=yes, as_json=run.as_json)
            for thread in threads:
                memory.threads.delete(thread.id)
    said = "would be removed" if dry_run else "removed"
    lines = [text.inline(f"{said}: {thread.id} ({thread.checkpoints} checkpoints)") for thread in threads]
    return Reply({"dry_run": dry_run, "removed": [described(thread) for thread in threads]}, lines)


def _listed(threads: list[Thread]) -> str:
    count = sum(thread.checkpoints for thread in threads)
    return f"{', '.join(thread.id for thread in threads)} with {count} checkpoints"


def _second(moment: str) -> str:
    return moment[:19].replace("T", " ")
