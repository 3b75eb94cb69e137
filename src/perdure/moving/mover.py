"""The move: thread by thread, then items; each is compared with what is there, written, and read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from perdure import errors
from perdure.moving.comparing import Comparison, ordered
from perdure.moving.states import (
    Entry,
    Key,
    Pending,
    Source,
    State,
    Target,
)

__all__ = ["Counts", "Failure", "Report", "move"]

Tell = Callable[[int], None]
"""Is told how many more checkpoints are done with."""


@dataclass(slots=True)
class Counts:
    """How many were moved, and how many were there and equal already."""

    threads: int = 0
    checkpoints: int = 0
    writes: int = 0
    items: int = 0
    threads_there: int = 0
    items_there: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A thread or item that was not moved, and why."""

    what: str
    error: errors.PerdureError


@dataclass(slots=True)
class Report:
    """What a move has done."""

    counts: Counts = field(default_factory=Counts)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Plan:
    """What a thread lacks: whole states, and writes of states that are there."""

    states: list[Key]
    writes: list[tuple[Key, list[Pending]]]
    ahead: bool


class _Mover:
    def __init__(self, source: Source, target: Target, tell: Tell) -> None:
        self.source = source
        self.target = target
        self.tell = tell
        self.compared = Comparison(target.pack)
        self.report = Report(notes=list(source.notes))
        self._bare = 0

    def thread(self, thread: str) -> None:
        """Move one thread. What can't be moved is left out whole, and reported."""
        try:
            self.target.begin(thread)
        except errors.InvalidIdError as error:
            self.report.failures.append(Failure(f"thread {thread!r}", error))
            return
        try:
            self._thread(thread)
        except _PASSED_OVER as error:
            self.target.discard(thread, fully=True)
            self.report.failures.append(Failure(f"thread {thread!r}", error))
        except BaseException:
            self.target.discard(thread, fully=False)
            raise

    def _thread(self, thread: str) -> None:
        keys = self.source.keys(thread)
        self.compared = Comparison(self.target.pack)
        try:
            plan = self._plan(thread, keys)
        except errors.ConflictError:
            if not self.target.restart(thread):
                raise
            plan = self._plan(thread, keys)
        wanting = bool(plan.states or plan.writes)
        if wanting:
            self._write(thread, plan)
            self.target.complete(thread)
            self._verify(thread, [*plan.states, *(key for key, _ in plan.writes)])
        new = wanting or self.target.unfinished
        self.target.finish(thread, keys, self.source.about(thread) if new else None)
        self.report.counts.threads += new
        self.report.counts.threads_there += not new

    def _plan(self, thread: str, keys: list[Key]) -> _Plan:
        """Compare what is there, and find what is missing. Raises ConflictError."""
        there = set(self.target.keys(thread))
        plan = _Plan([key for key in keys if key not in there], [], ahead=bool(there - set(keys)))
        last = max((at for at, key in enumerate(keys) if key in there), default=-1)
        if plan.states and keys.index(plan.states[0]) < last:
            raise _conflict(thread, f"{plan.states[0]} is missing among later ones")
        for key in keys[: last + 1]:
            missing, more = self._compare(thread, key)
            plan.ahead = plan.ahead or more
            if missing:
                plan.writes.append((key, missing))
            else:
                self.tell(1)
        if plan.ahead and (plan.states or plan.writes):
            raise _conflict(thread, "both have gone on since")
        return plan

    def _compare(self, thread: str, key: Key) -> tuple[list[Pending], bool]:
        wanted, there = self.source.state(thread, key), self.target.state(thread, key)
        what = self.compared.difference(wanted, there)
        missing, more, other = self.compared.missing_writes(wanted, there)
        if other is not None:
            what = what or f"a write to channel {other.channel!r}"
        if what is not None:
            raise _conflict(thread, f"{key} is there and differs: {what}")
        return missing, bool(more)

    def _write(self, thread: str, plan: _Plan) -> None:
        counts = self.report.counts
        for key, writes in plan.writes:
            self.target.put_writes(thread, key, writes)
            counts.writes += len(writes)
        for key in plan.states:
            state = self.source.state(thread, key)
            self.target.put(thread, state)
            counts.checkpoints += 1
            counts.writes += len(state.writes)

    def _verify(self, thread: str, keys: Iterable[Key]) -> None:
        """Compare each state that was written with its source. Raises VerificationError."""
        for key in keys:
            wanted, there = self.source.state(thread, key), self.target.state(thread, key)
            if (what := self._unequal(wanted, there)) is not None:
                raise errors.VerificationError(
                    f"thread {thread!r}: {key} was written and does not equal its source: its {what} differs. "
                    f"{self._left()} If another program is writing to either database, stop it and repeat"
                )
            self.tell(1)

    def _left(self) -> str:
        if self.target.undoes:
            return "The thread was left out."
        return "What was added is still there: delete the thread there, and move it again."

    def _unequal(self, wanted: State, there: State) -> str | None:
        missing, more, other = self.compared.missing_writes(wanted, there)
        if missing or more or other is not None:
            return "list of pending writes"
        return self.compared.difference(wanted, there)

    def entries(self, page: list[Entry]) -> None:
        """Move some items, and read back what was written."""
        new = [entry for entry in page if self._is_new(entry)]
        try:
            self.target.put_entries(new)
        except _PASSED_OVER:
            new = [entry for entry in new if self._put_alone(entry)]
        for entry in new:
            self._bare += not self.target.keeps_about and (entry.about, entry.fields) != (None, None)
            there = self.target.entry(entry)
            if there is None or not self._same(entry, there) or there.expires_at != entry.expires_at:
                self._fail(entry, errors.VerificationError(f"{entry} was written and does not equal its source"))
            else:
                self.report.counts.items += 1

    def tell_of_bare(self) -> None:
        """Note how many items have lost what they had beside their value."""
        if self._bare:
            self.report.notes.append(
                f"{self._bare} items were written without their kind, source and the like, and without the paths they "
                "are found by: stock stores have no place for these"
            )

    def _is_new(self, entry: Entry) -> bool:
        try:
            there = self.target.entry(entry)
        except _PASSED_OVER as error:
            self._fail(entry, error)
            return False
        if there is not None and self._same(entry, there):
            self.report.counts.items_there += 1
        elif there is not None:
            self._fail(entry, errors.ConflictError(f"{entry} is there and differs. {_REMEDY}"))
        return there is None

    def _put_alone(self, entry: Entry) -> bool:
        try:
            self.target.put_entries([entry])
        except _PASSED_OVER as error:
            self._fail(entry, error)
            return False
        return True

    def _same(self, one: Entry, other: Entry) -> bool:
        if (one.created_at, one.updated_at, one.ttl) != (other.created_at, other.updated_at, other.ttl):
            return False
        if self.target.keeps_about and (one.about, one.fields) != (other.about, other.fields):
            return False
        return self.target.pack(ordered(one.value)) == self.target.pack(ordered(other.value))

    def _fail(self, entry: Entry, error: errors.PerdureError) -> None:
        self.report.failures.append(Failure(str(entry), error))


_REMEDY = "Nothing of it was changed: delete it on one side, or move it to another database or tenant, and repeat"
_PASSED_OVER = (
    errors.InvalidInputError,
    errors.UnsupportedValueError,
    errors.StoredValueError,
    errors.ConflictError,
    errors.VerificationError,
    errors.NotFoundError,
)


def _conflict(thread: str, why: str) -> errors.ConflictError:
    return errors.ConflictError(f"thread {thread!r}: {why}. {_REMEDY}")


def move(
    source: Source, target: Target, *, threads: Iterable[str] | None = None, tell: Tell = lambda _: None
) -> Report:
    """Move everything, or just some threads, and report what was done.

    What is there and equal is passed over; what is there and differs, or can't be kept, is reported and left out.
    """
    mover = _Mover(source, target, tell)
    known = [thread for thread, _ in source.threads()]
    for thread in dict.fromkeys(threads) if threads is not None else known:
        if thread in known:
            mover.thread(thread)
        else:
            error = errors.NotFoundError(f"the source has no thread {thread!r}")
            mover.report.failures.append(Failure(f"thread {thread!r}", error))
    if threads is None:
        for page in source.entries():
            mover.entries(page)
    mover.tell_of_bare()
    return mover.report
