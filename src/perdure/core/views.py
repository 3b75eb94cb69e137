"""Views: what a write knows of its thread's rows, remembered from before or asked now.

Every change of a thread's rows raises its revision. So what a process remembers from one revision holds as long as
the thread has it. Where questions are cheap, a write reads the revision first. Where each is a round trip, it relies
on what is remembered, and its first statement requires the revision: if that fails, or a key is taken that should be
free, nothing is stored and the work is repeated with its eyes open.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from perdure.core import ids, threads

if TYPE_CHECKING:
    from perdure.core.threads import State
    from perdure.core.unit import Unit
    from perdure.engine import Row
    from perdure.model import Address

__all__ = ["Known", "View", "open"]

Place = tuple[int, int]
_MOST = {"seqs": 64, "tasks": 8, "free": 256, "spaces": 1024, "heads": 1024, "staged": 32}
"""How much of each kind is remembered."""


@dataclass(slots=True)
class Known:
    """Rows of a thread, at one revision of it. No state: there is no such thread.

    `listed`: its logs are all here. `whole`: this process saw it begin, so its namespaces are, too.
    """

    state: State | None = None
    whole: bool = False
    listed: bool = False
    spaces: dict[str, int] = field(default_factory=dict)
    heads: dict[int, int] = field(default_factory=dict)
    """The newest seq of a namespace, 0 if it has none."""
    seqs: dict[tuple[int, str], int] = field(default_factory=dict)
    logs: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The number of a log and where it ends."""
    tasks: dict[int, dict[bytes, bytes]] = field(default_factory=dict)
    """Every task's writes, by seq."""
    free: dict[bytes, Place] = field(default_factory=dict)
    staged: dict[tuple[str, str], list[Row]] = field(default_factory=dict)
    """Writes that wait for a checkpoint, by its namespace and id: task, generation and payload of each."""

    def copy(self) -> Known:
        """Return a copy that a write may change; what is oldest in it may be forgotten."""
        found = replace(
            self,
            spaces=dict(self.spaces),
            heads=dict(self.heads),
            seqs=dict(self.seqs),
            logs=dict(self.logs),
            tasks={seq: dict(tasks) for seq, tasks in self.tasks.items()},
            free=dict(self.free),
            staged=dict(self.staged),
        )
        for name, most in _MOST.items():
            kept = getattr(found, name)
            if len(kept) > most:
                for key in list(kept)[: len(kept) - most // 2]:
                    del kept[key]
                found.whole = found.whole and name not in {"spaces", "heads"}
        return found

    def at(self, state: State) -> bool:
        """Whether this is what is known of a thread in a state."""
        mine = self.state
        return mine is not None and (mine.generation, mine.revision) == (state.generation, state.revision)


async def open(  # noqa: A001 - read with the module
    unit: Unit, address: Address, known: Known | None, *, checkpoint: str, careful: bool, begins: bool = False
) -> View:
    """Return the view of a thread that a write begins with.

    `address` is of the checkpoint that the write follows or belongs to, `checkpoint` the one it
    makes or belongs to. `careful` relies on nothing. `begins`: the write names nothing that would
    be there already, so that there is most likely no such thread.
    """
    thread = address.thread
    if unit.distant:
        if known is not None and known.listed and not careful:
            return View(unit, thread, known.copy(), relied=True)
        if begins and not careful:
            return View(unit, thread, Known(whole=True, listed=True), relied=True)
        return View(unit, thread, await _asked(unit, address, checkpoint))
    state = await threads.lock(unit, thread)
    if state is None:
        return View(unit, thread, Known(whole=True, listed=True))
    if known is not None and known.at(state):
        return View(unit, thread, known.copy())
    return View(unit, thread, Known(state))


async def _asked(unit: Unit, address: Address, checkpoint: str) -> Known:
    """Return what a write will want to know, asked in one round trip, the thread locked first.

    The mutex is for one that isn't there: what is staged for it stays as it is seen until this work ends.
    """
    where = {"thread": address.thread, "space": address.ns}
    made = {**where, "id": ids.pack(checkpoint)}
    _, states, places, ends, tasks, staged = await unit.together(
        [
            ("thread_mutex", {"thread": address.thread}),
            ("thread_lock", {"thread": address.thread}),
            ("write_context", {**made, "parent": ids.pack(address.checkpoint or "")}),
            ("log_ends", {"thread": address.thread, "revision": -1}),
            ("named_writes", made),
            ("staged_of", {"thread": address.thread, "ns": address.ns, "checkpoint": made["id"]}),
        ]
    )
    found = Known(threads.State(*states[0]) if states else None, whole=not states, listed=True)
    found.staged[address.ns, checkpoint] = staged
    if not states:
        return found
    found.logs = {name: (log, end) for name, log, end in ends}
    ns, head, seq, parent = places[0]
    if ns is None:
        return found
    found.heads[ns] = head or 0
    if address.ns:
        found.spaces[address.ns] = ns
    if parent is not None and address.checkpoint is not None:
        found.seqs[ns, address.checkpoint] = parent
    if seq is not None:
        found.seqs[ns, checkpoint] = seq
        found.tasks[seq] = {task: payload for _, task, payload in tasks}
    return found


@dataclass(slots=True)
class View:
    """A thread as a write sees it; what it doesn't know it asks. `relied`: nothing has been asked of it yet."""

    unit: Unit
    thread: str
    known: Known
    relied: bool = False
    _digests: dict[bytes, Row | None] = field(default_factory=dict)

    @property
    def state(self) -> State | None:
        """The thread's state, None if there is no such thread."""
        return self.known.state

    @property
    def generation(self) -> int:
        """The thread's generation, 0 if there is no such thread."""
        return self.known.state.generation if self.known.state else 0

    def move(self, *, seqs: int = 0, replaced: int = 0) -> None:
        """Take note of what the write's own change of the thread's row does."""
        state = self.known.state
        if state is not None:
            self.known.state = replace(
                state,
                revision=state.revision + 1,
                next_seq=state.next_seq + seqs,
                epoch=state.epoch + replaced,
            )

    async def space(self, name: str) -> int | None:
        """Return the number of a checkpoint namespace, None if the thread has none of that name."""
        if not name:
            return 0
        found = self.known.spaces.get(name)
        if found is None and not self.known.whole:
            row = await self.unit.one("space_get", generation=self.generation, name=name)
            if row is not None:
                found = self.known.spaces[name] = int(row[0])
        return found

    async def new_space(self) -> int:
        """Return a number for a new checkpoint namespace."""
        if self.known.whole:
            return max(self.known.spaces.values(), default=0) + 1
        row = await self.unit.one("space_next", generation=self.generation)
        return int(row[0]) if row else 1

    async def seq_of(self, ns: int | None, checkpoint: str | None, *, fresh: bool = False) -> int | None:
        """Return the seq of a checkpoint, None if it is not there.

        `fresh`: it may be on its way still; a relying view leaves it to a statement to require that it isn't there.
        """
        if ns is None or not checkpoint:
            return None
        found = self.known.seqs.get((ns, checkpoint))
        if found is None and self.known.heads.get(ns) != 0 and not (fresh and self.relied):
            row = await self.unit.one("checkpoint_seq", generation=self.generation, ns=ns, id=ids.pack(checkpoint))
            if row is not None:
                found = self.known.seqs[ns, checkpoint] = int(row[0])
        return found

    async def head(self, ns: int) -> int | None:
        """Return the seq of a namespace's newest checkpoint, None if it has none."""
        found = self.known.heads.get(ns)
        if found is None and not self.known.whole:
            row = await self.unit.one("checkpoint_head_seq", generation=self.generation, ns=ns)
            found = self.known.heads[ns] = int(row[0]) if row else 0
        return found or None

    async def staged(self, ns: str, checkpoint: str) -> list[Row]:
        """Return the task, generation and payload of writes that wait for a checkpoint.

        A relying view leaves it to `thread_touch` to say that there are others.
        """
        found = self.known.staged.get((ns, checkpoint))
        if found is None and not self.relied:
            return await self.unit.all("staged_of", thread=self.thread, ns=ns, checkpoint=ids.pack(checkpoint))
        return found or []

    async def task(self, seq: int, task: bytes) -> bytes | None:
        """Return the writes that a task of a checkpoint has already."""
        if seq in self.known.tasks:
            return self.known.tasks[seq].get(task)
        row = await self.unit.one("write_get", generation=self.generation, seq=seq, task=task)
        return row[0] if row else None

    async def look_up(self, digests: list[bytes]) -> None:
        """Ask for many entries at once, where each question is a round trip."""
        if self.unit.distant and not self.relied and digests:
            asked = [("digest_get", {"generation": self.generation, "digest": digest}) for digest in digests]
            found = await self.unit.together(asked)
            self._digests.update({key: rows[0] if rows else None for key, rows in zip(digests, found, strict=True)})

    async def digest(self, digest: bytes) -> Place | None:
        """Return where an entry is kept that the process doesn't hold; a relying view leaves it to its key."""
        if self.relied:
            return self.known.free.get(digest)
        if digest in self._digests:
            row = self._digests[digest]
        else:
            row = await self.unit.one("digest_get", generation=self.generation, digest=digest)
        return (row[0], row[1]) if row else None

    async def log(self, name: str) -> tuple[int, int] | None:
        """Return a log's number and where it ends, None if the thread has none of that name."""
        found = self.known.logs.get(name)
        if found is None and not self.known.listed:
            row = await self.unit.one("log_end", generation=self.generation, name=name)
            if row is not None:
                found = self.known.logs[name] = (row[0], row[1])
        return found

    async def log_count(self) -> int:
        """Return how many logs the thread has."""
        if self.known.listed:
            return len(self.known.logs)
        row = await self.unit.one("log_count", generation=self.generation)
        return int(row[0]) if row else 0
