"""The index of a command: from its options, else from what a tenant's vectors were made with."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from perdure import settings
from perdure.cli import loading
from perdure.core.search import embeddings
from perdure.langgraph.calls import Calls
from perdure.langgraph.indexing import LOCAL_MODEL, Index

__all__ = ["Dims", "Embed", "Fields", "indexed"]

Embed = Annotated[
    str | None,
    typer.Option(
        "--embed", metavar="NAME", help="local, provider:model, or package.module:embedder [env: PERDURE_EMBED]."
    ),
]
Dims = Annotated[int | None, typer.Option("--dims", help="Its dimensions; those of the stored vectors if left out.")]
Fields = Annotated[
    list[str] | None, typer.Option("--field", metavar="PATH", help="What of a value it reads; repeat for more.")
]


def indexed(calls: Calls, embed: str | None, dims: int | None, fields: list[str] | None) -> Calls:
    """Return calls with an index; without one if no embedder is named and the vectors are not of the local one.

    Raises ConfigurationError for an embedder that can't be had.
    """
    known = embeddings.active(calls.read(calls.tenant(), embeddings.everyone))
    spec = None if known is None else known.spec
    name = settings.embedder(embed) or ("local" if spec is not None and spec.model == LOCAL_MODEL else None)
    if name is None:
        return calls
    config: dict[str, Any] = {"embed": _named(name)}
    if dims is not None or spec is not None:
        config["dims"] = dims or (spec.dims if spec else None)
    if fields or spec is not None:
        config["fields"] = fields or list(spec.fields if spec else ())
    return replace(calls, index=Index(config))


def _named(name: str) -> Any:
    """Return an embedder: a name that LangChain knows, or an object of a module with a dot in its name."""
    module = name.partition(":")[0]
    return loading.named(name, "--embed", "app.memory:embed") if "." in module else name
