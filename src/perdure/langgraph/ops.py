"""Operations of the store: checked and encoded before the transaction, decoded after it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, Op, PutOp, Result, SearchItem, SearchOp

from perdure import errors
from perdure.core import filters, ids, items, namespaces, threads
from perdure.core.codec import Codec
from perdure.core.unit import Unit
from perdure.langgraph.calls import Job

__all__ = ["Plan", "plan"]

LARGEST_LIMIT = 1_000_000
LARGEST_OFFSET = 2**31
LONGEST_TTL = 2**31
"""Minutes."""

_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: what to do in the transaction, or which item to get, and what to make of the outcome."""

    job: Job[Any] | None
    finish: Callable[[Any], Result]
    key: tuple[str, str] = ("", "")
    writes: bool = False
    refresh: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Operations that run in one transaction, in order."""

    steps: tuple[Step, ...]

    @property
    def writes(self) -> bool:
        """Whether a read transaction is not enough."""
        return any(step.writes for step in self.steps)

    async def run(self, unit: Unit) -> tuple[list[Any], list[items.Record]]:
        """Return every outcome, and the items whose end should be moved because they were read."""
        found: list[Any] = []
        for _, group in itertools.groupby(self.steps, lambda step: (step.job is None, step.writes)):
            steps = list(group)
            if steps[0].job is None:
                found += await items.get(unit, [step.key for step in steps])
                continue
            if steps[0].writes:  # in one order for all, so that two batches don't wait for each other's rows
                steps.sort(key=lambda step: step.key)
            found += [await step.job(unit) for step in steps if step.job is not None]
        due = [
            record
            for step, outcome in zip(self.steps, found, strict=True)
            if step.refresh
            for record in outcome
            if items.is_due(record, unit.now)
        ]
        if due and self.writes:
            await items.refresh(unit, due)
            due = []
        return found, due

    def results(self, found: list[Any]) -> list[Result]:
        """Return what LangGraph expects for the outcomes of `run`."""
        return [step.finish(outcome) for step, outcome in zip(self.steps, found, strict=True)]


def plan(codec: Codec, ops: Iterable[Op], subject: str | None) -> Plan:
    """Check and encode operations. Raises for the first that can't be done, before anything is stored."""
    return Plan(tuple(_step(codec, op, subject, place) for place, op in enumerate(ops)))


def _step(codec: Codec, op: Op, subject: str | None, place: int) -> Step:
    if isinstance(op, GetOp):
        return _get(codec, op)
    if isinstance(op, PutOp):
        return _delete(op) if op.value is None else _put(codec, op, subject, place)
    if isinstance(op, SearchOp):
        return _search(codec, op)
    if isinstance(op, ListNamespacesOp):
        return _list_namespaces(op)
    raise errors.InvalidInputError(
        f"{type(op).__name__} is no operation of a store; there are GetOp, PutOp, SearchOp and ListNamespacesOp"
    )


def _get(codec: Codec, op: GetOp) -> Step:
    namespace, key = namespaces.pack(namespaces.check(op.namespace)), check_key(op.key)

    def finish(found: list[items.Record]) -> Item | None:
        return _item(codec, found[0]) if found else None

    return Step(None, finish, (namespace, key), refresh=op.refresh_ttl)


def _put(codec: Codec, op: PutOp, subject: str | None, place: int) -> Step:
    labels, key = namespaces.check(op.namespace), check_key(op.key)
    namespaces.refuse_reserved(labels)
    _check_index(op.index)
    value = _value(op.value)
    draft = items.Draft(
        namespace=namespaces.pack(labels),
        key=key,
        value=codec.seal(codec.pack(value)),
        projection=filters.write(value, codec),
        ttl=_micros(op.ttl),
        subject=subject,
        place=place,
    )
    return Step(lambda unit: items.put(unit, draft), _nothing, (draft.namespace, key), writes=True)


def _delete(op: PutOp) -> Step:
    namespace, key = namespaces.pack(namespaces.check(op.namespace)), check_key(op.key)
    return Step(lambda unit: items.delete(unit, namespace, key), _nothing, (namespace, key), writes=True)


def _search(codec: Codec, op: SearchOp) -> Step:
    prefix = namespaces.check_path(op.namespace_prefix, "namespace prefix")
    conditions = filters.parse(op.filter, codec)
    limit, offset = _bounds(op.limit, op.offset)
    if op.query is not None and not isinstance(op.query, str):
        raise errors.InvalidInputError(f"a query is text, not {type(op.query).__name__}")

    def finish(found: list[items.Record]) -> list[SearchItem]:
        return [_search_item(codec, record) for record in found]

    return Step(
        lambda unit: items.search(unit, prefix, conditions, limit=limit, offset=offset), finish, refresh=op.refresh_ttl
    )


def _list_namespaces(op: ListNamespacesOp) -> Step:
    conditions = [_condition(given) for given in op.match_conditions or ()]
    limit, offset = _bounds(op.limit, op.offset)
    depth = op.max_depth
    if depth is not None and not (type(depth) is int and depth > 0):
        raise errors.InvalidLimitError(f"max_depth must be a whole number from 1, or None, not {depth!r}")
    return Step(
        lambda unit: namespaces.page(unit, conditions, max_depth=depth, limit=limit, offset=offset), lambda found: found
    )


def _condition(given: MatchCondition) -> namespaces.Condition:
    try:
        end = namespaces.End(given.match_type)
    except ValueError:
        raise errors.InvalidInputError(f"match_type is 'prefix' or 'suffix', not {given.match_type!r}") from None
    return namespaces.Condition(end, namespaces.check_path(given.path, end.value))


def check_key(key: object) -> str:
    """Return a key that an item can have. Raises InvalidIdError."""
    return str.__str__(ids.check(key, "key", longest=items.LONGEST_KEY))


def _value(given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise errors.UnsupportedValueError(f"$: an item's value is a dict, not {type(given).__name__}; wrap it in one")
    value = dict(given)
    for name in value:
        if not isinstance(name, str):
            raise errors.UnsupportedValueError(
                f"$: the keys of an item's value are strings; {name!r} is {type(name).__name__}"
            )
    return value


def _check_index(index: object) -> None:
    if index is None or index is False:
        return
    if not isinstance(index, list) or not all(isinstance(path, str) for path in index):
        raise errors.InvalidInputError("index is None, False or a list of field paths such as ['text', 'tags[*]']")


def _micros(minutes: object) -> int | None:
    if minutes is None:
        return None
    known = isinstance(minutes, int | float) and not isinstance(minutes, bool) and math.isfinite(minutes)
    if known and 0 < minutes <= LONGEST_TTL:  # type: ignore[operator]
        return max(1, round(minutes * _MINUTE))  # type: ignore[operator]
    raise errors.InvalidInputError(f"ttl is a number of minutes above 0, up to {LONGEST_TTL}, or None; not {minutes!r}")


def _bounds(limit: object, offset: object) -> tuple[int, int]:
    return (
        threads.check_limit(limit, largest=LARGEST_LIMIT),
        threads.check_limit(offset, largest=LARGEST_OFFSET, what="offset"),
    )


def _nothing(_: object) -> None:
    return None


def _decoded(codec: Codec, record: items.Record) -> Any:
    where = f"item {record.key!r} in {record.namespace!r}"
    return codec.unpack(codec.open(record.value, where=where), where=where)


def _item(codec: Codec, record: items.Record) -> Item:
    return Item(
        value=_decoded(codec, record),
        key=record.key,
        namespace=record.namespace,
        created_at=threads.moment(record.created_at),
        updated_at=threads.moment(record.updated_at),
    )


def _search_item(codec: Codec, record: items.Record) -> SearchItem:
    return SearchItem(
        namespace=record.namespace,
        key=record.key,
        value=_decoded(codec, record),
        created_at=threads.moment(record.created_at),
        updated_at=threads.moment(record.updated_at),
    )
