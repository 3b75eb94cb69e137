"""What every part of the suite stands on: the fixtures that open a store, and what it says it can do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, TypeVar

import pytest
from langgraph.store.base import BaseStore

from perdure.testing.embedding import TopicEmbeddings
from perdure.testing.opening import Called, Opens, Style

__all__ = ["Opened", "Setting", "Supports", "Wait", "attempt", "index", "keys", "needs"]

F = TypeVar("F", bound=Callable[..., None])
Opened: TypeAlias = Callable[..., Called]
Wait: TypeAlias = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Supports:
    """What a store can do; the tests of what it can't are skipped.

    `ttl`: items may end. `operators`: filters may hold ``$gte`` and the like. `query`: it takes an index, and finds by
    meaning. Not of LangGraph's interface, with Perdure's names: `conditions` (``if_version``, ``if_absent`` and an
    item's ``version``) and `increment`.
    """

    ttl: bool = True
    operators: bool = True
    query: bool = True
    conditions: bool = False
    increment: bool = False


class Setting:
    """The fixtures. `open_store` has to be given; the rest may be."""

    supports: ClassVar[Supports] = Supports()
    styles: ClassVar[tuple[str, ...]] = ("sync", "async")
    """The calling styles that the store has."""
    ttl: ClassVar[float] = 0.03
    """The minutes that an item is given; short where time really passes."""

    @pytest.fixture
    def open_store(self) -> Opens:
        """Return what makes a new, empty store of an index config, which may be None; see `Opens`."""
        raise NotImplementedError(
            f"give {type(self).__name__} a fixture named open_store: docs/how-to/test-your-store.md"
        )

    @pytest.fixture
    def wait(self) -> Wait:
        """Return what lets minutes pass; with a fake clock, one that moves it."""
        return lambda minutes: time.sleep(60 * minutes)

    def sweep(self, store: BaseStore) -> None:
        """Remove what has expired, where the store has a way to."""

    @pytest.fixture(params=["sync", "async"])
    def style(self, request: pytest.FixtureRequest) -> Iterator[Style]:
        """Return each style of the store."""
        if request.param not in self.styles:
            pytest.skip(f"the store has no {request.param} style")
        with closing(Style(blocking=request.param == "sync")) as style:
            yield style

    @pytest.fixture
    def opened(self, open_store: Opens, style: Style) -> Iterator[Opened]:
        """Return what opens a store until the test ends."""
        with ExitStack() as stack:
            yield lambda index=None: stack.enter_context(style.opened(open_store(index)))

    @pytest.fixture
    def store(self, opened: Opened) -> Called:
        """Return a store without an index."""
        return opened()

    @pytest.fixture
    def indexed(self, opened: Opened) -> Called:
        """Return a store with an index."""
        return opened(index())

    @pytest.fixture(autouse=True)
    def _asked_for(self, request: pytest.FixtureRequest) -> None:
        for what in getattr(request.function, "needed", ()):
            if not getattr(self.supports, what):
                pytest.skip(f"the store supports no {what}")


def index(dims: int = 64, **changes: Any) -> Mapping[str, Any]:
    """Return an index config."""
    return {"embed": TopicEmbeddings(), "dims": dims, **changes}


def needs(what: str) -> Callable[[F], F]:
    """Mark a test of something that not every store supports."""

    def marked(test: F) -> F:
        test.needed = (what, *getattr(test, "needed", ()))  # type: ignore[attr-defined]
        return test

    return marked


def keys(found: list[Any]) -> list[str]:
    """Return the keys of items."""
    return [item.key for item in found]


def attempt(call: Callable[[], Any]) -> tuple[bool, Any]:
    """Return whether a call was accepted, and its outcome."""
    try:
        return True, call()
    except Exception:  # noqa: BLE001 - which error refuses is the store's own matter
        return False, None
