"""Embedding: making vectors of what is stored and of what is looked for, in either style."""

from __future__ import annotations

import itertools
import logging
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perdure import errors
from perdure.core.search import embeddings
from perdure.langgraph.indexing import Index, Vector
from perdure.langgraph.styles import Style

__all__ = ["Wanted", "agreed", "embed", "one_by_one", "vectors_of", "wanted"]

_log = logging.getLogger(__name__)
_AT_ONCE = 64
"""Texts that an embedder is given at once."""
_REFUSED = 3
"""Items that an embedder refuses before it is taken for one that fails altogether."""


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """Queries as vectors of length 1, by their texts; none where the embedder failed."""

    number: int
    dims: int
    vectors: dict[str, Any]
    middle: Any = None
    axis: Any = None


async def agreed(style: Style, index: Index, tenant: str) -> int:
    """Return the number of the embedding that makes a tenant's vectors. Raises EmbeddingModelError."""
    known = index.agreed.get(tenant)
    if known is None:
        found = embeddings.active(await style.read(tenant, embeddings.everyone))
        if found is None:
            found = await style.write(tenant, lambda unit: embeddings.agree(unit, index.spec))
        if found.spec != index.spec:
            raise embeddings.refusal(tenant, found.spec, index.spec)
        index.agreed[tenant] = known = found.number
        index.middle = index.middle or found.middle
    return known


async def embed(style: Style, index: Index, tenant: str, jobs: Sequence[embeddings.Job]) -> int:
    """Make and store the vectors of items; those whose embedder fails stay pending. Return how many have them now."""
    number = await agreed(style, index, tenant)
    try:
        found = await vectors_of(style, index, jobs)
        kept = await style.write(tenant, lambda unit: embeddings.keep_all(unit, number, found))
    except (errors.EmbedderError, errors.ConfigurationError, errors.DatabaseError) as error:
        _log.warning("%d items are stored and wait for their vectors: %s", len(jobs), error)
        return 0
    if kept < len(jobs):
        index.agreed.pop(tenant, None)  # another text came first, or another model
    return kept


async def vectors_of(
    style: Style, index: Index, jobs: Sequence[embeddings.Job]
) -> list[tuple[embeddings.Job, list[Vector]]]:
    """Return the vectors of items. Raises EmbedderError."""
    texts = [job.texts(index.spec) for job in jobs]
    made = await documents(style, index, itertools.chain.from_iterable(texts))
    return [(job, [made[text] for text in some]) for job, some in zip(jobs, texts, strict=True)]


async def one_by_one(
    style: Style, index: Index, jobs: Sequence[embeddings.Job]
) -> tuple[list[tuple[embeddings.Job, list[Vector]]], list[embeddings.Job]]:
    """Return the vectors of the items that have some, and the others: one text may be what an embedder refuses.

    Raises EmbedderError if it refuses the first few.
    """
    made: list[tuple[embeddings.Job, list[Vector]]] = []
    refused: list[embeddings.Job] = []
    for job in jobs:
        try:
            made += await vectors_of(style, index, [job])
        except errors.EmbedderError:
            refused.append(job)
            if not made and len(refused) >= _REFUSED:
                raise
    return made, refused


async def documents(style: Style, index: Index, given: Iterable[str]) -> dict[str, Vector]:
    """Return the vectors of texts, each text embedded once. Raises EmbedderError."""
    texts = list(dict.fromkeys(given))
    made: dict[str, Vector] = {}
    for at in range(0, len(texts), _AT_ONCE):
        some = texts[at : at + _AT_ONCE]
        try:
            found = await style.documents(index.embedder, some)
        except Exception as error:  # whatever a provider raises
            raise _failed(index, error) from error
        made.update(zip(some, index.vectors(found, len(some)), strict=True))
    return made


async def wanted(style: Style, index: Index, tenant: str, texts: Iterable[str], *, must: bool) -> Wanted:
    """Return the vectors of queries. If the embedder fails they are left out, or `must` be: raises EmbedderError."""
    number = await agreed(style, index, tenant)
    found: dict[str, Any] = {}
    for text in dict.fromkeys(texts):
        try:
            found[text] = await _query(style, index, text)
        except errors.EmbedderError as error:
            if must:
                raise
            _log.warning("a search goes by words only: %s", error)
    middle, axis = await _usual(style, index, tenant, number) if found else (None, None)
    return Wanted(number, index.spec.dims, found, middle, axis)


async def _query(style: Style, index: Index, text: str) -> Any:
    """Return the vector of a query. An agent asks the same at each model call of a turn, so the last ones are kept."""
    if (known := index.asked.get(text)) is not None:
        return known
    try:
        found = await style.query(index.embedder, text)
    except Exception as error:  # whatever a provider raises
        raise _failed(index, error) from error
    vector = _unit(index.vectors([found], 1)[0])
    index.keep(text, vector)
    return vector


async def _usual(style: Style, index: Index, tenant: str, number: int) -> tuple[Any, Any]:
    """Return what the embedder gives to any text, and the axis its languages lie along; none if it fails.

    Asked for once, and kept with the tenant's embedding, one behind the other.
    """
    if index.middle is None or len(index.middle) != 2 * 4 * index.spec.dims:
        try:
            made = await documents(style, index, itertools.chain.from_iterable(embeddings.ABOUT_THIS_AND_THAT))
        except errors.EmbedderError:
            return None, None
        usual = array("f", np.concatenate(_middle_and_axis(made)).astype("<f4").tobytes())
        await style.write(tenant, lambda unit: embeddings.set_middle(unit, number, usual))
        index.middle = usual.tobytes()
    middle, axis = np.frombuffer(index.middle, dtype="<f4").reshape(2, -1)
    return middle, axis


def _middle_and_axis(made: Mapping[str, Vector]) -> tuple[Any, Any]:
    first, second = ([_unit(made[text]) for text in texts] for texts in embeddings.ABOUT_THIS_AND_THAT)
    apart = np.mean(second, axis=0) - np.mean(first, axis=0)
    return np.mean([*first, *second], axis=0), apart / (np.linalg.norm(apart) or 1)


def _unit(vector: Vector) -> Any:
    found = np.frombuffer(vector, dtype="<f4")
    return found / (np.linalg.norm(found) or 1)


def _failed(index: Index, error: Exception) -> errors.EmbedderError:
    return errors.EmbedderError(
        f"the embedder {index.spec.model} failed with {type(error).__name__}; what was stored is kept and found by its "
        "words. Repeat when it works again: 'perdure items reindex' makes the vectors that are missing"
    )
