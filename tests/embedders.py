"""A fake embedder for tests, which says that it is one."""

from __future__ import annotations

import hashlib

from langchain_core.embeddings import Embeddings

TOPICS = {
    "food": ("pizza", "hungry", "dinner", "披萨", "饿"),
    "work": ("plumber", "job", "office", "水管工", "工作"),
    "pets": ("dog", "cat", "puppy"),
}


class FakeEmbedder(Embeddings):
    """A fake that knows a few topics; texts of one topic are near each other. Counts what it is asked for."""

    model = "fake-topics"

    def __init__(self, dims=8):
        self.dims = dims
        self.documents = []
        self.queries = []
        self.failing = False

    def embed_documents(self, texts):
        if self.failing:
            raise TimeoutError("the embedder is down")
        self.documents += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text):
        if self.failing:
            raise TimeoutError("the embedder is down")
        self.queries.append(text)
        return self._vector(text)

    def _vector(self, text):
        found = [sum(word in text.lower() for word in words) for words in TOPICS.values()]
        noise = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=self.dims).digest()
        return [float(a) + b / 2560 for a, b in zip([*found, *[0] * self.dims], noise, strict=False)]
