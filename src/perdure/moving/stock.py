"""Stock savers' and stores' databases, read and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from perdure import errors
from perdure.core import moves
from perdure.core.codec import Codec
from perdure.moving import memories, tables
from perdure.moving.connections import Connection, connect
from perdure.moving.incoming import Incoming
from perdure.moving.outgoing import Outgoing
from perdure.moving.states import Entry, Key, Pack, Pending, State

__all__ = ["StockSource", "StockTarget"]


class _Stock:
    """What reading and writing share."""

    def __init__(self, connection: Connection, codec: Codec) -> None:
        self._connection = connection
        self._codec = codec
        self._encode = Outgoing()
        self._tables = tables.tables(connection, Incoming(codec), self._encode)

    def keys(self, thread: str) -> list[Key]:
        """Return a thread's checkpoints in the order of their ids, which is that of the stock savers' listings."""
        rows = self._connection.rows(
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = ? "
            "ORDER BY checkpoint_id, checkpoint_ns",
            thread,
        )
        there = {(ns, name) for ns, name, _ in rows}
        return [Key(ns, name, parent if (ns, parent) in there else None) for ns, name, parent in rows]

    def state(self, thread: str, key: Key) -> State:
        """Return one state. Raises RefusedValueError, CorruptValueError, or NotFoundError."""
        where = f"thread {thread!r}, {key}"
        checkpoint, metadata = self._tables.read(thread, key, where)
        writes = self._tables.read_writes(thread, key, where)
        return State(key, checkpoint, metadata, writes)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StockSource(_Stock):
    """What stock savers and stores have kept, read in one transaction that sees one moment."""

    def __init__(self, url: str, codec: Codec) -> None:
        super().__init__(connect(url, writing=False), codec)
        self.notes: list[str] = []
        try:
            self._threads = "thread_id" in self._connection.columns("checkpoints")
            self._store = memories.columns(self._connection)
            if not self._threads and not self._store:
                raise errors.ForeignDatabaseError(
                    "the database to read from has no tables of LangGraph's savers or stores"
                )
            self._connection.begin(writing=False)
            self._look()
        except errors.PerdureError:
            self.close()
            raise

    def _look(self) -> None:
        """Note what stays behind."""
        if self._threads:
            writes = self._tables.writes
            count = self._connection.rows(
                f"SELECT count(*) FROM {writes} w WHERE NOT EXISTS (SELECT 1 FROM checkpoints c WHERE "  # noqa: S608
                "c.thread_id = w.thread_id AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id)"
            )[0][0]
            if count:
                self.notes.append(f"{count} pending writes were left out: their checkpoints are not there")
        self.notes += memories.left_behind(self._connection, self._store)

    def threads(self) -> list[tuple[str, int]]:
        """Return the ids of all threads and how many checkpoints each has."""
        if not self._threads:
            return []
        sql = "SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id ORDER BY thread_id"
        return [(thread, count) for thread, count in self._connection.rows(sql)]

    def about(self, thread: str) -> moves.Description | None:  # noqa: ARG002 - a source may know
        """Return None: stock savers know nothing of a thread but its states."""
        return None

    def entries(self) -> Iterator[list[Entry]]:
        """Yield the items that have not expired, some at a time."""
        return memories.pages(self._connection, self._store) if self._store else iter(())


class StockTarget(_Stock):
    """The stock tables, made by the stock packages themselves. A thread is written in one transaction."""

    unfinished = False
    undoes = True
    keeps_about = False

    def __init__(self, url: str, codec: Codec) -> None:
        super().__init__(connect(url, writing=True), codec)
        self.pack: Pack = self._encode.pack
        try:
            self._refuse_foreign()
            for what in ("saver", "store"):
                self._connection.setup(what)
        except errors.PerdureError:
            self.close()
            raise

    def _refuse_foreign(self) -> None:
        """Keep the stock packages from altering tables that are not theirs."""
        for table, column in (("checkpoints", "thread_id"), (self._tables.writes, "thread_id"), ("store", "prefix")):
            found = self._connection.columns(table)
            if found and column not in found:
                raise errors.ForeignDatabaseError(
                    f"the database to write to has a table {table!r} that is not LangGraph's; nothing was changed"
                )

    def begin(self, thread: str) -> None:  # noqa: ARG002 - nothing is left of an interrupted transaction
        """Begin the transaction of a thread."""
        self._connection.begin(writing=True)

    def put(self, thread: str, state: State) -> None:
        """Insert a state with its writes."""
        self._tables.insert(thread, state, f"thread {thread!r}, {state.key}")
        self.put_writes(thread, state.key, state.writes)

    def put_writes(self, thread: str, key: Key, writes: Sequence[Pending]) -> None:
        """Insert pending writes."""
        self._tables.insert_writes(thread, key, writes, f"thread {thread!r}, {key}")

    def restart(self, thread: str) -> bool:  # noqa: ARG002 - as above
        """Return False: nothing is left of an interrupted transaction."""
        return False

    def complete(self, thread: str) -> None:
        """Do nothing: the rows name their parents themselves."""

    def finish(self, thread: str, keys: list[Key], about: moves.Description | None) -> None:  # noqa: ARG002 - no place for it
        """Commit the thread, if stock savers will list its checkpoints in their order."""
        by_space: dict[str, list[str]] = {}
        for key in keys:
            by_space.setdefault(key.ns, []).append(key.id)
        for ns, names in by_space.items():
            if names != sorted(names):
                raise errors.UnsupportedValueError(
                    f"thread {thread!r}, namespace {ns!r}: stock savers go by the ids of checkpoints, and these are in "
                    "another order, since clocks differed: they would go on from another checkpoint. It was left out"
                )
        self._connection.end(commit=True)
        self._encode.forget()

    def discard(self, thread: str, *, fully: bool) -> None:  # noqa: ARG002 - a transaction leaves nothing
        """Undo what was begun."""
        self._connection.end(commit=False)
        self._encode.forget()

    def entry(self, wanted: Entry) -> Entry | None:
        """Return what is there in the place of an item."""
        return memories.get(self._connection, wanted.namespace, wanted.key)

    def put_entries(self, entries: list[Entry]) -> None:
        """Insert items, all or none."""
        self._connection.begin(writing=True)
        try:
            memories.insert(self._connection, entries)
        except errors.PerdureError:
            self._connection.end(commit=False)
            raise
        self._connection.end(commit=True)
