"""A real model, started once for all tests that ask for it; without one they are skipped, and the reason is said."""

from __future__ import annotations

import pytest
from tests.llm import provision, serving


@pytest.fixture(scope="session")
def address():
    """The address of a server with a real model."""
    try:
        python, model = provision.ready()
        server = serving.served(python, model, provision.HOME / "server.log")
        with server as address:
            yield address
    except provision.UnavailableError as missing:
        pytest.skip(str(missing))
