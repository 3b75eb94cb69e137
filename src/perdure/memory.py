"""The composition root: opens an engine, owns its life, and hands out what is built on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from langgraph.store.base import IndexConfig

from perdure import errors
from perdure.core.codec import Codec, types_of
from perdure.core.entries import Caches
from perdure.core.search import embeddings
from perdure.core.shapes import Migrations, Shape
from perdure.engine import Engine, engines
from perdure.engine.rounds import Rounds
from perdure.langgraph import whys
from perdure.langgraph.calls import Calls
from perdure.langgraph.catalogue import Catalogue
from perdure.langgraph.configs import Scope
from perdure.langgraph.histories import History
from perdure.langgraph.indexing import Index
from perdure.langgraph.saver import Saver
from perdure.langgraph.store import Store
from perdure.langgraph.sweeping import Sweep
from perdure.model import Why

__all__ = ["Memory"]

_TENANTS = ("optional", "required")
_SWEEPS = ("auto", "off")
_CONFLICTS = ("fork", "reject", "wait")


class Memory:
    """Memory for agents in one database: `checkpointer`, `store` and `threads`.

    Made by `Memory.open`. Works in both calling styles; `close` it, or leave a `with` block, when
    the process is done with it.
    """

    def __init__(self, calls: Calls, rounds: Rounds | None = None) -> None:
        self._calls = calls
        self._rounds = rounds
        self.checkpointer = Saver(calls)
        self.store = Store(calls)
        self.threads = Catalogue(calls)

    @classmethod
    def open(  # noqa: PLR0913 - the public way to say everything there is to say
        cls,
        url: str,
        *,
        tenant: str | None = None,
        tenants: str = "optional",
        types: Iterable[type] = (),
        index: IndexConfig | None = None,
        conflicts: str = "fork",
        schema: str | None = None,
        pool: Mapping[str, Any] | None = None,
        schema_version: int = 1,
        migrations: Migrations | None = None,
        create: bool = True,
        sweep: str = "auto",
    ) -> Memory:
        """Open a database, and set it up if it is new.

        `url` is ``sqlite:///path`` (four slashes for an absolute path) or ``sqlite://`` (private, in
        memory). `tenant` is the wall all calls stand behind ("default" if none is named);
        ``tenants="required"`` makes a call that names none an error. `types` are classes that states
        and items may hold; see also `register`. `index` is LangGraph's `IndexConfig`: ``embed`` (an
        embedder, a function, ``"provider:model"`` or ``"local"``), ``dims`` and ``fields``.
        `schema_version` is the version of the graph's state that this program works with, and ``migrations[n]`` a
        function from the state's values of version n to those of version n+1, for threads that hold older ones.
        `sweep` is ``"auto"``: a process that changes items removes what has expired, in the background, about once
        a minute; or ``"off"``, where ``perdure sweep`` or `store.sweep` is called regularly.
        `create=False` refuses a database that was not set up.

        Raises ConfigurationError for what this release can't do, DatabaseError for what it can't open.
        """
        _choose("tenants", tenants, _TENANTS)
        _choose("conflicts", conflicts, _CONFLICTS)
        _choose("sweep", sweep, _SWEEPS)
        _refuse_later(conflicts=conflicts)
        shape = Shape.of(schema_version, migrations)
        made = None if index is None else Index(index)
        scope = Scope(required=tenants == "required").narrowed(tenant, None)
        codec = Codec(types)
        walls = "refuse" if tenants == "required" else "warn"
        engine = engines.start(url, create=create, schema=schema, pool=pool, walls=walls)
        calls = Calls(engine, codec, Caches(), scope, index=made, shape=shape)
        try:
            _check_index(calls)
        except BaseException:
            engine.close()
            raise
        return cls(*_swept(calls)) if sweep == "auto" else cls(calls)

    def scope(self, *, tenant: str | None = None, subject: str | None = None) -> Memory:
        """Return a view of this memory for a tenant or subject; it shares the engine, which the memory closes.

        The tenant is a wall: no call of the view gets past it. The subject narrows `threads` and is
        recorded with what the view stores; a thread's own id still finds it for the checkpointer.
        Raises InvalidIdError if this memory is a view of another tenant or subject already.
        """
        return _View(self, self._calls.within(tenant, subject))

    def history(self, thread_id: str, *, channel: str = "messages") -> History:
        """Return the messages of a thread as LangChain's `BaseChatMessageHistory`; nothing is read or begun yet.

        They are those of the thread's state at the checkpointer, in a `channel` whose reducer is `add_messages`.
        """
        return History(self._calls, thread_id, channel)

    def why(self, thread_id: str, *, about: str | None = None, step: int | None = None) -> Why:
        """Return what a model call of a thread saw and, of a text, why it was not in it; see docs/reference/why.md.

        The last call, or that of a step. Agents with `perdure.middleware.Ledger` have recorded what it saw.
        Raises NotFoundError for a step in which no call was recorded.
        """
        return whys.why(self._calls, thread_id, about=about, step=step)

    async def awhy(self, thread_id: str, *, about: str | None = None, step: int | None = None) -> Why:
        """Do what `why` does, without blocking the event loop."""
        return await asyncio.to_thread(self.why, thread_id, about=about, step=step)

    def register(self, *graphs_or_types: object) -> None:
        """Let stored values hold the types of graphs (their state, input, output and context) or classes."""
        for given in graphs_or_types:
            found = types_of(given)
            self._calls.codec.register(*([given] if isinstance(given, type) and not found else found))

    @property
    def url(self) -> str:
        """The URL this memory was opened with."""
        return self._calls.engine.url

    @property
    def engine(self) -> Engine:
        """The engine, for the command line and for tests."""
        return self._calls.engine

    def setup(self) -> list[str]:
        """Apply the migrations that are missing and return their names; `open` has done so already."""
        return self._calls.engine.setup()

    async def asetup(self) -> list[str]:
        """Do what `setup` does, without blocking the event loop."""
        return await asyncio.to_thread(self.setup)

    def close(self) -> None:
        """Close every connection; later calls raise ClosedError."""
        if self._rounds is not None:
            self._rounds.close()
        self._calls.engine.close()

    async def aclose(self) -> None:
        """Do what `close` does, without blocking the event loop."""
        if self._rounds is not None:
            await asyncio.to_thread(self._rounds.close)
        await self._calls.engine.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _View(Memory):
    """A scope of a memory; keeps it open, and leaves closing to it."""

    def __init__(self, memory: Memory, calls: Calls) -> None:
        super().__init__(calls)
        self._memory = memory

    def close(self) -> None:
        """Do nothing: the memory this is a view of is the one to close."""

    async def aclose(self) -> None:
        """Do nothing, as `close`."""


def _check_index(calls: Calls) -> None:
    """Refuse an embedder of other dimensions; it is not asked if it has made the vectors that are there."""
    index, scope = calls.index, calls.scope
    if index is None:
        return
    found = (
        None if scope.required and not scope.named else embeddings.active(calls.read(scope.tenant, embeddings.everyone))
    )
    if found is None or found.spec != index.spec:
        index.check()


def _swept(calls: Calls) -> tuple[Calls, Rounds]:
    """Return calls that tell of changes, and what is done about these in the background."""
    sweep = Sweep(calls)
    jobs = {"the sweep": sweep.expired, "trimming the log of changes": sweep.trimmed}
    if calls.index is not None:
        jobs["making vectors"] = lambda: _embedded(calls, sweep)
    rounds = Rounds(jobs)

    def notice(tenant: str, *, changes: int, urgent: bool) -> None:
        sweep.changed(tenant)
        rounds.notice(changes, urgent=urgent)

    return replace(calls, notice=notice), rounds


def _embedded(calls: Calls, sweep: Sweep) -> bool:
    """Make the vectors that a failing embedder left to be made; there is nothing more to do until the next round."""
    if calls.index is not None and sweep.waiting():
        store = Store(calls)
        if calls.index.only_async:
            asyncio.run(store.aembed_pending())
        else:
            store.embed_pending()
    return False


def _choose(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise errors.ConfigurationError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def _refuse_later(*, conflicts: str) -> None:
    if conflicts != "fork":
        raise errors.NotAvailableError(f"conflicts={conflicts!r} is not part of this release; leave it out")
