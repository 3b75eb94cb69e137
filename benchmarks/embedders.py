"""Embedders for measurements: a fake that costs next to nothing, and one that remembers what it was asked."""

from __future__ import annotations

import functools
import zlib
from typing import Any, Final

import numpy as np
from langchain_core.embeddings import Embeddings

__all__ = ["DIMS", "FakeEmbedder", "RememberingEmbedder", "vector"]

DIMS: Final = 384
_TOPIC: Final = 0.6


def _direction(text: str) -> Any:
    found = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMS)
    return found / np.linalg.norm(found)


@functools.lru_cache(maxsize=1024)
def _topic(word: str) -> Any:
    return _direction(word)


def vector(text: str) -> Any:
    """Return a vector of length 1: that of the text's first word and one of its own, which mean nothing."""
    found = _TOPIC * _topic(text.partition(" ")[0]) + _direction(text)
    return (found / np.linalg.norm(found)).astype(np.float32)


@functools.lru_cache(maxsize=200_000)
def _numbers(text: str) -> list[float]:
    found: list[float] = vector(text).tolist()
    return found


class FakeEmbedder(Embeddings):
    """Vectors drawn by chance, the same for the same text. Texts with the same first word lie near each other."""

    model: Final = "fake-for-measurements"
    dims: Final = DIMS

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that are stored; they are met once."""
        return [vector(text).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed a text that is looked for; what was asked before takes no time."""
        return _numbers(text)


class RememberingEmbedder(Embeddings):
    """Another embedder, asked once for each query, so that every way to search is measured with one run of it."""

    def __init__(self, other: Any) -> None:
        self._other = other
        self._known: dict[str, list[float]] = {}
        self.model: str = other.model
        self.dims: int = other.dims

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that are stored."""
        found: list[list[float]] = self._other.embed_documents(texts)
        return found

    def embed_query(self, text: str) -> list[float]:
        """Embed a text that is looked for."""
        if text not in self._known:
            self._known[text] = self._other.embed_query(text)
        return self._known[text]
