"""Opening: a store from what a factory gives, called by its blocking or by its async names."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any, TypeAlias, TypeVar

from langgraph.store.base import BaseStore

__all__ = ["Called", "Opens", "Style"]

T = TypeVar("T")
Opens: TypeAlias = Callable[[Mapping[str, Any] | None], Any]
"""Makes a new, empty store with LangGraph's index config, or None.

What it returns is the store, a coroutine of it, or a context manager of it, async or not.
"""


class Style:
    """A calling style: the names it calls by, and the event loop that the async ones run in."""

    def __init__(self, *, blocking: bool) -> None:
        self.blocking = blocking
        self._runner = asyncio.Runner()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        return self._runner.run(coroutine)

    def renew(self) -> None:
        """Close the event loop, and go on in another one."""
        loop, self._runner = self._runner.get_loop(), asyncio.Runner()
        # As a runner closes it, but for the asynchronous generators: one may hold the store open.
        loop.run_until_complete(_cancel(asyncio.all_tasks(loop)))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    def close(self) -> None:
        """Close the event loop."""
        self._runner.close()

    @contextmanager
    def opened(self, made: Any) -> Iterator[Called]:
        """Open what a factory has made; close it at the end."""
        opening = _entered(made)
        store = self.run(opening.__aenter__())
        try:
            yield Called(store, self)
        finally:
            self.run(opening.__aexit__(None, None, None))


class Called:
    """Calls the methods of a store by the names of a style, and waits for them."""

    def __init__(self, store: BaseStore, style: Style) -> None:
        self.store = store
        self._style = style

    def __getattr__(self, name: str) -> Any:
        if self._style.blocking:
            return getattr(self.store, name)
        method = getattr(self.store, f"a{name}")
        return lambda *given, **named: self._style.run(method(*given, **named))


async def _cancel(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _entered(made: Any) -> AsyncIterator[BaseStore]:
    if inspect.isawaitable(made):
        made = await made
    if isinstance(made, BaseStore):
        yield made
    elif isinstance(made, AbstractAsyncContextManager):
        async with made as store:
            yield store
    elif isinstance(made, AbstractContextManager):
        with made as store:
            yield store
    else:
        raise TypeError(f"open_store made {type(made).__name__}; it makes a BaseStore, or a context manager of one")
