"""A fake embedder, so that searches by meaning can be tested without a model."""

from __future__ import annotations

import hashlib
import re
from typing import Final

import numpy as np
from langchain_core.embeddings import Embeddings

__all__ = ["TOPICS", "TopicEmbeddings"]

TOPICS: Final = {
    "food": ("pizza", "hungry", "dinner", "披萨", "饿"),
    "work": ("plumber", "job", "office", "水管工", "工作"),
    "pets": ("dog", "cat", "puppy", "狗", "猫"),
}
_WORD: Final = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")
_WEIGHT: Final = 3


class TopicEmbeddings(Embeddings):
    """A fake that knows the topics food, work and pets in English and Chinese, and tells other words apart.

    `asked` holds every text it was given, `failing` makes it raise.
    """

    def __init__(self, dims: int = 64) -> None:
        self.dims = dims
        self.model = "topics"
        self.asked: list[str] = []
        self.failing = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that are stored."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed a text that is looked for."""
        if self.failing:
            raise TimeoutError("this fake embedder was told to fail")
        self.asked.append(text)
        made = np.full(self.dims, 1e-3)
        for name, words in TOPICS.items():
            made += _WEIGHT * any(word in text.lower() for word in words) * self._direction(f"topic {name}")
        for word in _WORD.findall(text.lower()):
            made += self._direction(word)
        found: list[float] = (made / np.linalg.norm(made)).tolist()
        return found

    def _direction(self, word: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        made = np.random.default_rng(seed).standard_normal(self.dims)
        return made / np.linalg.norm(made)
