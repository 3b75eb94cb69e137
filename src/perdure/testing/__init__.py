"""What a store of LangGraph's has to do, as tests that any store can run. Needs pytest.

See docs/how-to/test-your-store.md.
"""

from __future__ import annotations

try:
    import pytest
except ImportError as error:
    raise ImportError("perdure.testing needs pytest: pip install pytest") from error

# Before these are imported: their assertions then say what they compared.
pytest.register_assert_rewrite(
    *(f"{__name__}.{name}" for name in ("changing", "expiring", "filtering", "keeping", "naming", "querying"))
)

from perdure.testing.embedding import TopicEmbeddings  # noqa: E402 - see above
from perdure.testing.opening import Opens  # noqa: E402
from perdure.testing.suite import StoreSuite, Supports  # noqa: E402

__all__ = ["Opens", "StoreSuite", "Supports", "TopicEmbeddings"]
