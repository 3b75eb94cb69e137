"""Operations of the store: checked and encoded before the transaction, decoded after it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, Op, PutOp, Result, SearchItem, SearchOp

from perdure import errors
from perdure.core import changes, items, namespaces, threads, versions
from perdure.core.codec import Codec
from perdure.core.search import embeddings, finding
from perdure.core.unit import Unit
from perdure.langgraph import putting, searching, stored
from perdure.langgraph.arranging import check_depth
from perdure.langgraph.calls import Job
from perdure.langgraph.putting import Delete, Put, Setting, check_key, check_version
from perdure.langgraph.searching import Search, Sought

__all__ = ["Plan", "plan"]

LARGEST_LIMIT = 1_000_000
LARGEST_OFFSET = 2**31


class Step(NamedTuple):
    """One operation: what to do in the transaction, or which item to get, and what to make of the outcome."""

    job: Job[Any] | None
    finish: Callable[[Any], Result]
    key: tuple[str, str] = ("", "")
    writes: bool = False
    refresh: bool | None = False
    draft: items.Draft | None = None
    sought: Sought | None = None

    def records(self, outcome: Any) -> list[items.Record]:
        """Return the items that were read."""
        return outcome if self.sought is None else [found.record for found in outcome]


class Plan(NamedTuple):
    """Operations that run in one transaction, in order."""

    steps: tuple[Step, ...]
    setting: Setting
    writes: bool
    """Whether a read transaction is not enough."""

    @property
    def is_single(self) -> bool:
        """Whether it reads one item and nothing else: the most frequent plan."""
        return len(self.steps) == 1 and self.steps[0].job is None

    @property
    def queries(self) -> list[Sought]:
        """The searches for a query."""
        return [step.sought for step in self.steps if step.sought is not None and step.sought.text is not None]

    @property
    def pending(self) -> list[embeddings.Job]:
        """The items whose vectors have to be made, once they are stored: the last put of each key."""
        drafts = [step.draft for step in self.steps if step.draft is not None and step.draft.embedded is items.PENDING]
        last = {(draft.namespace, draft.key): draft for draft in drafts}
        return [embeddings.Job(one.namespace, one.key, one.fields, one.projection) for one in last.values()]

    @property
    def changes(self) -> int:
        """How many items are put or removed."""
        return sum(step.writes for step in self.steps)

    @property
    def ends(self) -> bool:
        """Whether an item is put that will expire, as far as its put or the store's own setting says."""
        return any(step.draft is not None and step.draft.ends for step in self.steps)

    async def run(self, unit: Unit) -> tuple[list[Any], list[items.Record]]:
        """Return every outcome, and the items whose end should be moved because they were read."""
        found = await self._outcomes(unit)
        due = [
            record
            for step, outcome in zip(self.steps, found, strict=True)
            if step.refresh is not False
            for record in step.records(outcome)
            if items.is_due(record, unit.now) and self._refreshes(step, record)
        ]
        if due and self.writes:
            await items.refresh(unit, due)
            due = []
        return found, due

    async def _outcomes(self, unit: Unit) -> list[Any]:
        if self.is_single:
            return await items.get(unit, [self.steps[0].key])
        found: list[Any] = []
        for _, group in itertools.groupby(self.steps, lambda step: (step.job is None, step.writes)):
            steps = list(group)
            if steps[0].job is None:
                found += await items.get(unit, [step.key for step in steps])
                continue
            order = list(range(len(steps)))
            if steps[0].writes:  # in one order for all, so that two batches don't wait for each other's rows
                order.sort(key=lambda at: steps[at].key)
            outcomes = {at: await job(unit) for at in order if (job := steps[at].job) is not None}
            found += [outcomes[at] for at in range(len(steps))]
        return found

    def _refreshes(self, step: Step, record: items.Record) -> bool:
        """Tell whether the call, else a policy, else the store's own setting has a read move an item's end."""
        if step.refresh is not None:
            return step.refresh
        return self.setting.refreshes if record.refresh is None else record.refresh == 1

    def results(self, found: list[Any]) -> list[Result]:
        """Return what LangGraph expects for the outcomes of `run`."""
        return [step.finish(outcome) for step, outcome in zip(self.steps, found, strict=True)]


def plan(setting: Setting, ops: Iterable[Op | Put | Delete | Search]) -> Plan:
    """Check and encode operations. Raises for the first that can't be done, before anything is stored."""
    steps = tuple([_step(setting, _ours(op), place) for place, op in enumerate(ops)])
    return Plan(steps, setting, any(step.writes for step in steps))


def _ours(op: Op | Put | Delete | Search) -> Op | Put | Delete | Search:
    """Return an operation of LangGraph's as the one of ours that says more."""
    if isinstance(op, PutOp):
        return Delete(op.namespace, op.key) if op.value is None else Put.of(op)
    return Search.of(op) if isinstance(op, SearchOp) else op


def _step(setting: Setting, op: Op | Put | Delete | Search, place: int) -> Step:
    if isinstance(op, Put):
        return _put(setting, op, place)
    if isinstance(op, Delete):
        return _delete(setting.codec, op)
    if isinstance(op, GetOp):
        return _get(setting.codec, op)
    if isinstance(op, Search):
        return _search(setting, op)
    if isinstance(op, ListNamespacesOp):
        return _list_namespaces(op)
    raise errors.InvalidInputError(
        f"{type(op).__name__} is no operation of a store; there are GetOp, PutOp, SearchOp and ListNamespacesOp"
    )


def _get(codec: Codec, op: GetOp) -> Step:
    namespace, key = namespaces.pack(namespaces.check(op.namespace)), check_key(op.key)

    def finish(found: list[items.Record]) -> Item | None:
        return stored.item(codec, found[0]) if found else None

    return Step(None, finish, (namespace, key), refresh=op.refresh_ttl)


def _put(setting: Setting, op: Put, place: int) -> Step:
    draft = putting.draft(setting, op, place)
    job: Job[Any] = lambda unit: changes.put(unit, draft)  # noqa: E731 - one of two
    finish: Callable[[Any], Result] = _nothing
    if op.told:
        job, finish = lambda unit: changes.replace(unit, draft), lambda record: stored.item(setting.codec, record)
    where = (draft.namespace, draft.key)
    return Step(_telling(setting.codec, job), finish, where, writes=True, draft=draft)


def _delete(codec: Codec, op: Delete) -> Step:
    namespace, key = namespaces.pack(namespaces.check(op.namespace)), check_key(op.key)
    version = check_version(op.if_version)
    job: Job[None] = lambda unit: changes.delete(unit, namespace, key, version, purge=op.purge)  # noqa: E731 - as above
    return Step(_telling(codec, job), _nothing, (namespace, key), writes=True)


def _telling(codec: Codec, job: Job[Any]) -> Job[Any]:
    """Have a conflict show the item as a read returns it."""

    async def run(unit: Unit) -> Any:
        try:
            return await job(unit)
        except errors.VersionConflictError as error:
            error.current = error.current and stored.item(codec, error.current)
            raise

    return run


def _search(setting: Setting, op: Search) -> Step:
    bounds = _bounds(op.limit, op.offset)
    found = searching.sought(setting.codec, op, bounds, paths=setting.fields, indexed=setting.indexed)

    def finish(outcome: list[finding.Found]) -> list[SearchItem]:
        return [stored.search_item(setting.codec, one) for one in outcome]

    job = _newest(found) if found.text is None else _best(setting, found)
    return Step(job, finish, refresh=op.refresh_ttl, sought=found)


def _newest(sought: Sought) -> Job[list[finding.Found]]:
    ask, moment = sought.ask, sought.moment

    async def job(unit: Unit) -> list[finding.Found]:
        if moment is not None:
            return list(map(finding.Found, await versions.search(unit, ask, moment)))
        found = await items.search(
            unit, ask.prefix, ask.conditions, limit=ask.limit, offset=ask.offset, shown=ask.shown
        )
        return list(map(finding.Found, found))

    return job


def _best(setting: Setting, found: Sought) -> Job[list[finding.Found]]:
    return lambda unit: finding.find(unit, setting.shelves, found.with_vector(setting.wanted))


def _list_namespaces(op: ListNamespacesOp) -> Step:
    conditions = [_condition(given) for given in op.match_conditions or ()]
    limit, offset = _bounds(op.limit, op.offset)
    depth = check_depth(op.max_depth)
    return Step(
        lambda unit: namespaces.page(unit, conditions, max_depth=depth, limit=limit, offset=offset), lambda found: found
    )


def _condition(given: MatchCondition) -> namespaces.Condition:
    try:
        end = namespaces.End(given.match_type)
    except ValueError:
        raise errors.InvalidInputError(f"match_type is 'prefix' or 'suffix', not {given.match_type!r}") from None
    return namespaces.Condition(end, namespaces.check_path(given.path, end.value))


def _bounds(limit: object, offset: object) -> tuple[int, int]:
    return (
        threads.check_limit(limit, largest=LARGEST_LIMIT),
        threads.check_limit(offset, largest=LARGEST_OFFSET, what="offset"),
    )


def _nothing(_: object) -> None:
    return None
