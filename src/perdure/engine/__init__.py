"""How statements run: one unit of work in one transaction, in either calling style.

Core functions are written once, as coroutines over a `Tx`. With a blocking engine nothing in
them ever suspends, so `drive` runs the coroutine to its end with a single `send(None)`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Engine", "Params", "Row", "Tx", "Work", "drive"]

T = TypeVar("T")
Row = tuple[Any, ...]
Params = Mapping[str, object]


class Tx(Protocol):
    """One open transaction. Statements are named (`engine/sql/`); values are always bound."""

    async def all(self, name: str, /, **params: object) -> list[Row]:
        """Run a named statement and return every row."""

    async def one(self, name: str, /, **params: object) -> Row | None:
        """Run a named statement and return its first row, or None."""

    async def run(self, name: str, /, **params: object) -> int:
        """Run a named statement and return the number of rows it changed."""

    async def many(self, name: str, rows: Sequence[Params], /) -> None:
        """Run a named statement once for each set of parameters."""


Work = Callable[[Tx], Coroutine[Any, Any, T]]
"""A unit of work. A callable, so that an engine may run it again in a fresh transaction."""


class Engine(Protocol):
    """A database that runs units of work; safe to share between threads and event loops."""

    kind: str
    url: str
    applied: list[str]
    """The migrations that opening it has applied."""

    def read(self, work: Work[T]) -> T:
        """Run `work` in a read-only transaction that sees one moment of the database."""

    def write(self, work: Work[T]) -> T:
        """Run `work` and return once its effects are on disk."""

    async def aread(self, work: Work[T]) -> T:
        """Do what `read` does without blocking the event loop."""

    async def awrite(self, work: Work[T]) -> T:
        """Do what `write` does without blocking the event loop."""

    def setup(self) -> list[str]:
        """Apply the migrations that are missing and return their names."""

    def check(self) -> list[tuple[str, bool, str]]:
        """Return (what, whether it is right, what was seen or what to do) for `perdure doctor`."""

    def close(self) -> None:
        """Close every connection; later calls raise ClosedError."""


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
