"""`perdure items search` and `reindex`: what is found, and why; and the vectors it is found by."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Annotated, Any

import typer

from perdure import errors
from perdure.cli import indexes, output
from perdure.cli.commands import Run, command
from perdure.cli.indexes import Dims, Embed, Fields
from perdure.cli.items import Namespace, described, namespace_of, shown
from perdure.cli.output import Line, Misuse, Reply
from perdure.cli.values import compact, plain
from perdure.core import text
from perdure.core.search import embeddings
from perdure.langgraph.stored import SearchItem
from perdure.memory import Memory

__all__ = ["add"]

_LIMIT = 10


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "search")(search)
    command(app, "reindex")(reindex)


def search(  # noqa: PLR0913 - each is an option of the command line
    run: Run,
    namespace: Namespace,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    *,
    mode: Annotated[str, typer.Option("--mode", help="hybrid, vector or text.")] = "hybrid",
    where: Annotated[str | None, typer.Option("--filter", metavar="JSON", help="Only those that meet it.")] = None,
    min_score: Annotated[float | None, typer.Option("--min-score", help="Leave out what scores less.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the parts of each score.")] = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="Superseded and quarantined items too.")] = False,
    limit: Annotated[int, typer.Option("--limit", help="How many to show.")] = _LIMIT,
    embed: Embed = None,
    dims: Dims = None,
    field: Fields = None,
) -> Reply:
    """Find items by words, and by meaning if their vectors can be compared, the best first.

    Without --embed, the local embedder is used where it made the vectors; else words decide alone.
    """
    prefix, conditions = namespace_of(namespace), _filter(where)
    with run.memory() as (_, calls):
        store = Memory(indexes.indexed(calls, embed, dims, field)).store
        options: dict[str, Any] = {"superseded": hidden, "quarantined": hidden, "min_score": min_score, "mode": mode}
        found = store.search(
            prefix, query=query, filter=conditions, limit=limit, refresh_ttl=False, explain=True, **options
        )
    return Reply([_told(one) for one in found], _lines(found, explain=explain))


def _filter(given: str | None) -> dict[str, Any] | None:
    if given is None:
        return None
    try:
        found: dict[str, Any] = json.loads(given)
    except ValueError as error:
        raise Misuse(f'--filter is no JSON ({error}); quote it: \'{{"kind": "note"}}\'') from None
    return found


def _told(one: Any) -> dict[str, Any]:
    why = dataclasses.asdict(one.explanation) if one.explanation is not None else None
    return {**described(one), "score": one.score, "explanation": why}


def _lines(found: list[Any], *, explain: bool) -> list[Line]:
    if not found:
        return ["nothing found"]
    rows = [[_score(one), shown(one.namespace), one.key, compact(plain(one.value))] for one in found]
    head, *lines = output.table(["score", "namespace", "key", "value"], rows)
    if not explain:
        return [head, *lines]
    return [head, *itertools.chain.from_iterable(zip(lines, map(_why, found), strict=True))]


def _score(one: SearchItem) -> str:
    return "" if one.score is None else f"{one.score:.3f}"


def _why(one: SearchItem) -> str:
    why = one.explanation
    if why is None:
        return "       newest first"
    words = None if why.words is None else f"words {why.words:.3f} ({', '.join(why.terms) or 'none'})"
    parts = {"cosine": why.cosine, "closeness": why.closeness, "recency": why.recency, "importance": why.importance}
    said = [words, *(f"{name} {value:.3f}" for name, value in parts.items() if value is not None)]
    return text.inline("       " + "; ".join(part for part in said if part))


def reindex(run: Run, *, embed: Embed = None, dims: Dims = None, field: Fields = None) -> Reply:
    """Make the vectors that items lack: all of them, if the embedder is another one than before.

    Searches go on with the old vectors until the new ones are complete. Interrupted, it goes on when it is repeated.
    """
    with run.memory() as (_, plain_calls):
        calls = indexes.indexed(plain_calls, embed, dims, field)
        if calls.index is None:
            raise errors.ConfigurationError(
                "name the embedder: --embed local, --embed provider:model with --dims, or --embed package.module:name"
            )
        calls.index.check()
        total = calls.read(calls.tenant(), embeddings.items_count)
        with output.progress("items", total) as tell:
            done = Memory(calls).store.reindex(_steps(tell))
    line = f"{done.embedded} items have new vectors of {done.model} ({done.dims} dimensions)"
    return Reply(dataclasses.asdict(done), [text.inline(line + ("; searches use them now" if done.switched else ""))])


def _steps(tell: Any) -> Any:
    last = 0

    def progress(done: int, _: int) -> None:
        nonlocal last
        tell(max(done - last, 0))
        last = done

    return progress
