"""Fixtures for PostgreSQL. Nothing starts before a test asks; PERDURE_TEST_POSTGRES=URL names a server that runs."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets

import pytest
from tests import databases, servers


@pytest.fixture(scope="session")
def postgres_server():
    """The server of this run, shared by its workers. Its end is not a test's to bring about: see `private_server`."""
    if url := os.environ.get("PERDURE_TEST_POSTGRES"):
        yield databases.Elsewhere(url)
        return
    servers.sweep()
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(8)
    with servers.Server(servers.HOME / f"run-{run[:16]}") as server:
        yield server


@pytest.fixture
def private_server():
    """Make servers of this test's own, to stop, kill and freeze: `private_server()`, or with Server's options."""
    with contextlib.ExitStack() as stack:

        def make(**options):
            folder = servers.HOME / f"own-{secrets.token_hex(6)}"
            return stack.enter_context(servers.Server(folder, **options))

        yield make


@pytest.fixture(scope="session")
def _empty_databases(postgres_server):
    with (
        contextlib.closing(databases.Fresh(postgres_server, "template0")) as fresh,
        contextlib.closing(databases.Washed(fresh, postgres_server)) as washed,
    ):
        yield washed


@pytest.fixture(scope="session")
def _prepared_databases(postgres_server):
    with (
        databases.prepared(postgres_server) as template,
        contextlib.closing(databases.Fresh(postgres_server, template)) as fresh,
    ):
        yield fresh


@pytest.fixture(scope="session")
def _washed_databases(postgres_server, _prepared_databases):
    with contextlib.closing(databases.Washed(_prepared_databases, postgres_server)) as washed:
        yield washed


@pytest.fixture
def postgres_url(_empty_databases):
    """The URL of an empty database."""
    with _empty_databases.database() as url:
        yield url


@pytest.fixture
def prepared_postgres_url(_washed_databases):
    """The URL of a database in which Perdure has just been set up. The fast one, for most tests."""
    with _washed_databases.database() as url:
        yield url


@pytest.fixture
def application_url(postgres_server, prepared_postgres_url):
    """The same, as the application's role, which owns nothing."""
    return postgres_server.url(prepared_postgres_url.rpartition("/")[2].partition("?")[0], user=databases.APPLICATION)


@pytest.fixture
def fresh_postgres_url(_prepared_databases):
    """The same, in a database that no test has used: for tests that look at plans or sizes."""
    with _prepared_databases.database() as url:
        yield url


@pytest.fixture
def postgres_role(postgres_server):
    """Make a role that row-level security binds: `postgres_role(url)` returns the URL with which it logs in.

    Ask for it after the database's fixture, so that it goes first.
    """
    with contextlib.ExitStack() as stack:
        lend = functools.partial(databases.role, postgres_server)
        yield lambda url: stack.enter_context(lend(url))
