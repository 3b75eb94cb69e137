"""`perdure items`: list, read, write and remove long-term memory."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Annotated, Any

import typer
from langgraph.store.base import NOT_PROVIDED
from langgraph.store.base import Item as BaseItem

from perdure import errors
from perdure.cli import output
from perdure.cli.commands import DryRun, Run, Yes, command
from perdure.cli.output import Misuse, Reply
from perdure.cli.values import compact, plain
from perdure.core import abouts, text, threads
from perdure.langgraph.stored import Item, SearchItem
from perdure.model import Version

__all__ = ["Key", "Namespace", "app", "described", "namespace_of", "shown"]

app = typer.Typer(
    name="items", help="Long-term memory: find, list, get, put, move and remove items.", no_args_is_help=True
)

Namespace = Annotated[
    str, typer.Argument(metavar="NAMESPACE", help="Labels as a/b, or as a JSON list if one holds a slash.")
]
Key = Annotated[str, typer.Argument(metavar="KEY")]


def namespace_of(given: str) -> tuple[str, ...]:
    """Read a namespace: labels with slashes between them, or a JSON list of labels. Raises InvalidNamespaceError."""
    if not given.startswith("["):
        return tuple(given.split("/")) if given else ()
    try:
        labels = json.loads(given)
    except ValueError:
        labels = None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise errors.InvalidNamespaceError(f'{given!r} is no JSON list of labels; write a/b, or ["a", "b/c"]')
    return tuple(labels)


def described(item: BaseItem) -> dict[str, Any]:
    """Return an item for programs."""
    times = {"created_at": item.created_at.isoformat(), "updated_at": item.updated_at.isoformat()}
    found = {"namespace": list(item.namespace), "key": item.key, "value": plain(item.value), **times}
    if isinstance(item, Item | SearchItem):
        end = item.expires_at
        found |= {"version": item.version, "expires_at": None if end is None else end.isoformat()}
        found["about"] = plain(abouts.plain(item.about))
    return found


def shown(namespace: tuple[str, ...]) -> str:
    """Return a namespace as `namespace_of` reads it."""
    if any("/" in label or label.startswith("[") for label in namespace):
        return json.dumps(namespace, ensure_ascii=False)
    return "/".join(namespace)


@command(app, "ls")
def ls(
    run: Run,
    namespace: Annotated[str, typer.Argument(metavar="[NAMESPACE]", help="Only those below it.")] = "",
    *,
    ns: Annotated[list[str] | None, typer.Option("--ns", metavar="LABEL", help="A label of it; repeat it.")] = None,
    limit: Annotated[int, typer.Option("--limit", help="How many to list, up to 1,000.")] = threads.PAGE,
    cursor: Annotated[str, typer.Option("--cursor", help="Go on where the listing before ended.")] = "0",
) -> Reply:
    """List items, the last changed first."""
    if namespace and ns:
        raise Misuse("name the namespace once: as a/b, or label by label with --ns")
    prefix = tuple(ns) if ns else namespace_of(namespace)
    offset = _offset(cursor)
    threads.check_limit(limit)
    with run.memory() as (memory, _):
        found = memory.store.search(prefix, limit=limit + 1, offset=offset, refresh_ttl=False) if limit else []
    more, found = len(found) > limit, found[:limit]
    rows = [[shown(i.namespace), i.key, str(i.updated_at)[:19], compact(plain(i.value))] for i in found]
    lines = output.table(["namespace", "key", "updated", "value"], rows) if rows else ["no items"]
    return Reply(list(map(described, found)), lines, str(offset + limit) if more else None)


def _offset(cursor: str) -> int:
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise errors.InvalidCursorError("the cursor was not made by this listing; start again without one")
    return int(cursor)


@command(app, "get")
def get(run: Run, namespace: Namespace, key: Key) -> Reply:
    """Print the value of an item, as JSON."""
    labels = namespace_of(namespace)
    with run.memory() as (memory, _):
        found = memory.store.get(labels, key, refresh_ttl=False)
    if found is None:
        raise _missing(labels, key)
    value = json.dumps(plain(found.value), ensure_ascii=False, indent=2)
    return Reply(described(found), [text.json_safe(value)])


@command(app, "put")
def put(
    run: Run,
    namespace: Namespace,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="JSON", help="A JSON object, or - to read it from stdin.")],
    *,
    ttl: Annotated[float | None, typer.Option("--ttl", help="Minutes after which it is gone.")] = None,
) -> Reply:
    """Store an item, in the place of the one with its key."""
    labels, read = namespace_of(namespace), _object(sys.stdin.read() if value == "-" else value)
    with run.memory() as (memory, _):
        memory.store.put(labels, key, read, ttl=NOT_PROVIDED if ttl is None else ttl)
        found = memory.store.get(labels, key, refresh_ttl=False)
    data = described(found) if found else {"namespace": list(labels), "key": key, "value": read}
    return Reply(data, [text.inline(f"stored: {shown(labels)} {key}")])


def _object(given: str) -> dict[str, Any]:
    try:
        value = json.loads(given, parse_constant=_no_constant)
    except ValueError as error:
        raise Misuse(f'the value is no JSON ({error}); quote it: \'{{"text": "…"}}\'') from None
    if not isinstance(value, dict):
        raise Misuse(f"an item's value is a JSON object, not {type(value).__name__}; wrap it in one")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is none of JSON's numbers")


@command(app, "history")
def history(
    run: Run,
    namespace: Namespace,
    key: Key,
    *,
    limit: Annotated[int, typer.Option("--limit", help="How many versions to show.")] = threads.PAGE,
) -> Reply:
    """Show what an item is and was, as far as a policy of its namespace keeps history; the newest first."""
    labels = namespace_of(namespace)
    with run.memory() as (memory, _):
        found = memory.store.history(labels, key, limit=limit)
    if not found:
        raise _missing(labels, key)
    rows = [
        [str(one.version), _moment(one.updated_at), _moment(one.replaced_at), compact(plain(one.value))]
        for one in found
    ]
    return Reply(list(map(_version, found)), output.table(["version", "from", "until", "value"], rows))


def _version(one: Version) -> dict[str, Any]:
    return {
        "version": one.version,
        "value": plain(one.value),
        "about": plain(abouts.plain(one.about)),
        "updated_at": one.updated_at.isoformat(),
        "replaced_at": None if one.replaced_at is None else one.replaced_at.isoformat(),
    }


def _moment(when: datetime | None) -> str:
    return "now" if when is None else str(when)[:19]


@command(app, "rm")
def rm(
    run: Run,
    namespace: Namespace,
    key: Key,
    *,
    purge: Annotated[bool, typer.Option("--purge", help="Its kept versions too.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Reply:
    """Remove an item. Versions that a policy keeps stay, unless --purge removes them too."""
    labels = namespace_of(namespace)
    with run.memory() as (memory, _):
        store = memory.store
        found, versions = store.get(labels, key, refresh_ttl=False), store.history(labels, key, limit=1)
        if found is None and not (purge and versions):
            raise _missing(labels, key)
        if not dry_run:
            output.consent(f"Remove {shown(labels)} {key}, for good?", yes=yes, as_json=run.as_json)
            store.delete(labels, key, purge=purge)
            versions = store.history(labels, key, limit=1)
    said = "would be removed" if dry_run else "removed"
    kept = "; its versions are kept, and --purge removes them" if versions and not (purge or dry_run) else ""
    removed = [] if found is None else [described(found)]
    data = {"dry_run": dry_run, "purge": purge, "removed": removed, "versions_kept": bool(kept)}
    return Reply(data, [text.inline(f"{said}: {shown(labels)} {key}{kept}")])


def _missing(labels: tuple[str, ...], key: str) -> errors.NotFoundError:
    return errors.NotFoundError(
        f"there is no item {key!r} in {shown(labels)} for this tenant; 'perdure items ls' shows those there are"
    )
