"""How statements run: one unit of work in one transaction, in either calling style.

Core functions are written once, as coroutines over a `Tx`. With a blocking engine nothing in
them ever suspends, so `drive` runs the coroutine to its end with a single `send(None)`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

from perdure.engine.figures import Figures

__all__ = ["Engine", "Finding", "OutdatedError", "Params", "Question", "Row", "Tx", "Work", "drive"]

T = TypeVar("T")
Row = tuple[Any, ...]
Params = Mapping[str, object]
Question = tuple[str, Params]
"""The name of a statement, and its parameters."""


class Finding(NamedTuple):
    """What was checked, whether it is right, and what was seen and what to do about it.

    `note`: right, and worth knowing all the same.
    """

    what: str
    right: bool
    seen: str
    note: bool = False

    @classmethod
    def ok(cls, what: str, seen: str) -> Finding:
        """Return what is right."""
        return cls(what, right=True, seen=seen)

    @classmethod
    def noted(cls, what: str, seen: str) -> Finding:
        """Return what is right, and worth knowing."""
        return cls(what, right=True, seen=seen, note=True)

    @classmethod
    def wrong(cls, what: str, seen: str) -> Finding:
        """Return what is wrong; `seen` says what to do."""
        return cls(what, right=False, seen=seen)


class OutdatedError(Exception):
    """What a unit of work relied on is not so any more: nothing was stored. Look again, and repeat."""


class Tx(Protocol):
    """One open transaction. Statements are named (`engine/sql/`); values are always bound."""

    distant: bool
    """Whether every question is a round trip, so that relying on what is known and checking it at the end pays."""

    measures: bool
    """Whether the database itself measures distances between vectors."""

    async def all(self, name: str, /, **params: object) -> list[Row]:
        """Run a named statement and return every row."""

    async def one(self, name: str, /, **params: object) -> Row | None:
        """Run a named statement and return its first row, or None."""

    async def run(self, name: str, /, **params: object) -> int:
        """Run a named statement and return the number of rows it changed."""

    async def together(self, questions: Sequence[Question], /) -> list[list[Row]]:
        """Run several named statements, in one round trip, and return the rows of each."""

    async def post(self, name: str, /, **params: object) -> None:
        """Run a named statement whose outcome nobody asks for; it may wait for the next question or the end."""

    async def many(self, name: str, rows: Sequence[Params], /) -> None:
        """Post a named statement once for each set of parameters."""

    async def require(self, name: str, /, **params: object) -> None:
        """Post a named statement that has to change a row; if it doesn't, the work ends in OutdatedError."""

    async def compute(self, task: Callable[[], T], /) -> T:
        """Run what takes the processor for long; not on an event loop's thread."""


Work = Callable[[Tx], Coroutine[Any, Any, T]]
"""A unit of work. A callable, so that an engine may run it again in a fresh transaction."""


class Engine(Protocol):
    """A database that runs units of work; safe to share between threads and event loops.

    `tenant` is whose rows the work may touch; None: it looks at every tenant's threads and items.
    """

    kind: str
    url: str
    applied: list[str]
    """The migrations that opening it has applied."""

    def read(self, work: Work[T], *, tenant: str | None) -> T:
        """Run `work`, which changes nothing. What it asks together is answered from one moment of the database."""

    def write(self, work: Work[T], *, tenant: str) -> T:
        """Run `work` in one transaction and return once its effects are on disk."""

    async def aread(self, work: Work[T], *, tenant: str | None) -> T:
        """Do what `read` does without blocking the event loop."""

    async def awrite(self, work: Work[T], *, tenant: str) -> T:
        """Do what `write` does without blocking the event loop."""

    def lane(self, key: tuple[str, str]) -> AbstractContextManager[None]:
        """Return a context in which this process has no other write for the same key under way.

        Only for speed: two that rely on what is known would be in each other's way.
        """

    def alane(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Do what `lane` does without blocking the event loop."""

    def turn(self, key: tuple[str, str]) -> AbstractContextManager[None]:
        """Return a context in which this process has no other change for the same key under way.

        For those that read, think and write, where `lane` is for those that write. Only for speed, too.
        """

    def aturn(self, key: tuple[str, str]) -> AbstractAsyncContextManager[None]:
        """Do what `turn` does without blocking the event loop."""

    def setup(self) -> list[str]:
        """Apply the migrations that are missing and return their names."""

    def check(self) -> list[Finding]:
        """Return what `perdure doctor` shows."""

    def size(self) -> int:
        """Return the bytes that all of it takes on disk, whoever's it is."""

    def figures(self) -> Figures:
        """Return what `perdure inspect` shows."""

    def close(self) -> None:
        """Close every connection; later calls raise ClosedError."""

    async def aclose(self) -> None:
        """Do what `close` does without blocking the event loop."""


def drive(coro: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends to its end, without an event loop.

    Raises RuntimeError at once if it does suspend: a core function awaited something other than
    its transaction.
    """
    try:
        coro.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    finally:
        coro.close()
    msg = f"{coro!r} waited for something else than its transaction"
    raise RuntimeError(msg)
