"""What tests of many at once share."""

from __future__ import annotations

import pytest

from perdure import Memory


@pytest.fixture
def roomy(url):
    """A memory in which that many threads may wait for each other."""
    pool = {"max_size": 8, "timeout": 60} if url.startswith("postgres") else None
    with Memory.open(url, pool=pool, sweep="off") as memory:
        yield memory
