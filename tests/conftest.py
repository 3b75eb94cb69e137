"""What every test may ask for: each engine, each calling style, one memory."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import Any

import hypothesis
import pytest

from perdure import Memory

pytest_plugins = ["tests.fix_postgres"]

hypothesis.settings.register_profile("perdure", deadline=None, max_examples=60, derandomize=False)
hypothesis.settings.load_profile("perdure")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(params=["memory", "file", "postgres"])
def url(request):
    """A new database: in memory, in a file, and on PostgreSQL as a role that the walls between tenants hold."""
    fixture = {"memory": "memory_url", "file": "file_url", "postgres": "application_url"}[request.param]
    return request.getfixturevalue(fixture)


@pytest.fixture(params=["memory", "file"])
def sqlite_url(request):
    """A new database of the embedded engine."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture(params=["file", "postgres"])
def shared_url(request):
    """A new database that several processes can open."""
    return request.getfixturevalue("file_url" if request.param == "file" else "application_url")


@pytest.fixture
def memory_url():
    return "sqlite://"


@pytest.fixture
def file_url(tmp_path):
    return f"sqlite:///{tmp_path}/memory.db"


@pytest.fixture
def memory(url):
    with Memory.open(url) as opened:
        yield opened


class Styled:
    """Calls the methods of an object by their blocking or their async names; a listing comes as a list."""

    def __init__(self, target: Any, runner: asyncio.Runner | None) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        if self._runner is None:
            method = getattr(self._target, name)
            if inspect.isgeneratorfunction(method) or name == "list":
                return lambda *args, **given: _listed(method(*args, **given))
            return method
        return functools.partial(self._call, getattr(self._target, f"a{name}"))

    def _call(self, method: Any, *args: Any, **given: Any) -> Any:
        found = method(*args, **given)
        if hasattr(found, "__aiter__"):
            return self._runner.run(_gathered(found))
        return self._runner.run(found)


def _listed(found: Any) -> Any:
    return list(found) if inspect.isgenerator(found) else found


async def _gathered(found: Any) -> list[Any]:
    return [item async for item in found]


@pytest.fixture(params=["sync", "async"])
def styled(request):
    """Wrap an object so that a test, written once, calls it in either style."""
    if request.param == "sync":
        yield lambda target: Styled(target, None)
        return
    with asyncio.Runner() as runner:
        yield lambda target: Styled(target, runner)


@pytest.fixture
def saver(memory, styled):
    """The checkpointer of a new memory, in either style."""
    return styled(memory.checkpointer)
