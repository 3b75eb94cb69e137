"""The index of a memory: the embedder, what it reads of an item, and whether a tenant's vectors are its own."""

from __future__ import annotations

import importlib
import logging
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings
from langgraph.store.base import ensure_embeddings
from langgraph.store.base.embed import EmbeddingsLambda

from perdure import errors
from perdure.core.search import embeddings, texts

__all__ = ["LOCAL_MODEL", "Index"]

_log = logging.getLogger(__name__)
_KEYS: Final = ("embed", "dims", "fields", "model")
_NAMES: Final = ("model", "model_name", "model_id", "deployment")
LOCAL_MODEL: Final = "LocalEmbeddings:multilingual-e5-small"
_PROBE: Final = "dimensions"
Vector: TypeAlias = "array[float]"


_ASKED: Final = 64
"""Queries whose vectors are kept."""


class Index:
    """An embedder with LangGraph's `IndexConfig`: ``embed``, ``dims``, ``fields``; and ``model``, a name for it.

    ``embed`` may be ``"local"``: a model that works without a network, with 384 dimensions.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        if not isinstance(config, Mapping) or not set(config) <= set(_KEYS) or config.get("embed") is None:
            raise errors.ConfigurationError(
                f"index= is a dict of {', '.join(_KEYS)}, of which 'embed' must be there, not {config!r}"
            )
        given = config["embed"]
        self.embedder = _embedder(given)
        dims = config.get("dims", getattr(self.embedder, "dims", None))
        if type(dims) is not int or not 0 < dims <= embeddings.MOST_DIMS:
            raise errors.ConfigurationError(f"index['dims'] is a number from 1 to {embeddings.MOST_DIMS}, not {dims!r}")
        self.spec = embeddings.Spec(_model(config, given, self.embedder), dims, _fields(config.get("fields")))
        self.agreed: dict[str, int] = {}
        """For each tenant whose vectors are this embedder's: the number of its embedding."""
        self.asked: dict[str, Any] = {}
        """The vectors of the queries that were asked last."""
        self.middle: bytes | None = None
        """See `core.search.embeddings.Embedding`."""

    def keep(self, query: str, vector: Any) -> None:
        """Remember the vector of a query, and forget that of an old one."""
        if len(self.asked) >= _ASKED:
            self.asked.pop(next(iter(tuple(self.asked))), None)
        self.asked[query] = vector

    @property
    def only_async(self) -> bool:
        """Whether the embedder can't be called without an event loop."""
        return isinstance(self.embedder, EmbeddingsLambda) and not hasattr(self.embedder, "func")

    def check(self) -> None:
        """Raise ConfigurationError if the embedder makes vectors of another length; say nothing if it fails."""
        if getattr(self.embedder, "dims", None) == self.spec.dims:
            return  # it says so itself
        if self.only_async:
            return  # `open` is no coroutine; the first use will tell
        try:
            found = self.embedder.embed_documents([_PROBE])
            length = len(found[0])
        except Exception as error:  # noqa: BLE001 - whatever a provider raises; the first use will say more
            _log.info("the embedder %s was not asked for its dimensions: %s", self.spec.model, type(error).__name__)
            return
        self._refuse(length)

    def _refuse(self, length: int) -> None:
        if length != self.spec.dims:
            raise errors.ConfigurationError(
                f"the index has {self.spec.dims} dimensions, and its embedder {self.spec.model} makes vectors of "
                f"{length}; say index={{'dims': {length}, …}}, or name another embedder"
            )

    def vectors(self, found: Iterable[Sequence[float]], count: int) -> list[Vector]:
        """Return what an embedder has made, checked. Raises ConfigurationError or EmbedderError."""
        try:
            with np.errstate(over="ignore"):
                made = [np.asarray(one, dtype="<f4") for one in found]
        except (TypeError, ValueError, OverflowError):
            raise self._strange("something that is no list of lists of numbers") from None
        if len(made) != count:
            raise self._strange(f"{len(made)} vectors for {count} texts")
        return [self._vector(one) for one in made]

    def _vector(self, made: npt.NDArray[Any]) -> Vector:
        if made.ndim != 1:
            raise self._strange("something that is no list of lists of numbers")
        self._refuse(len(made))
        if not np.isfinite(made).all():
            raise self._strange("a vector that holds NaN or infinity")
        return array("f", made.tobytes())

    def _strange(self, given: str) -> errors.EmbedderError:
        return errors.EmbedderError(f"the embedder {self.spec.model} gave {given}")


def _embedder(given: object) -> Embeddings:
    if given == "local":
        found: Embeddings = importlib.import_module("perdure.langgraph.local").LocalEmbeddings()
        return found
    if not isinstance(given, str | Embeddings) and not callable(given):
        raise errors.ConfigurationError(
            f"index['embed'] is an Embeddings, a function of texts, 'provider:model' or 'local', not {given!r}"
        )
    try:
        return ensure_embeddings(given)
    except Exception as error:  # whatever a provider raises that lacks a package, a key or the model
        raise errors.ConfigurationError(f"index['embed'] {given!r} can't be used: {error}") from error


def _model(config: Mapping[str, Any], given: object, embedder: Embeddings) -> str:
    """Return a name that tells one embedder from another in every process."""
    named = config.get("model")
    if named is not None:
        return embeddings.check_model(named)
    if isinstance(given, str) and given != "local":
        return embeddings.check_model(given)
    if isinstance(given, Embeddings):
        return _described(given)
    return (
        embeddings.check_model(getattr(given, "__qualname__", type(given).__name__))
        if given != "local"
        else (_described(embedder))
    )


def _described(embedder: Embeddings) -> str:
    told = (getattr(embedder, name, None) for name in _NAMES)
    name = next((one for one in told if isinstance(one, str) and one), None)
    kind = type(embedder).__name__
    return embeddings.check_model(f"{kind}:{name}" if name else kind)


def _fields(given: object) -> tuple[str, ...]:
    if given is None:
        return texts.WHOLE
    if not isinstance(given, list | tuple) or not given or not all(isinstance(path, str) for path in given):
        raise errors.ConfigurationError("index['fields'] is a list of paths such as ['text', 'tags[*]'], or None")
    return tuple(map(texts.check_path, given))
