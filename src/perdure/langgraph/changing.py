"""Changing items: by a function of what is there, or by a number, with nobody else's change lost."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict, Unpack, cast

from langgraph.store.base import NOT_PROVIDED, NotProvided

from perdure import errors
from perdure.core import abouts, changes, items, namespaces
from perdure.core.changes import Whole
from perdure.core.items import Draft
from perdure.core.search.embeddings import Job
from perdure.engine import drive
from perdure.langgraph import putting, stored
from perdure.langgraph.putting import KEPT, AboutOptions, Put, Setting
from perdure.langgraph.running import Running
from perdure.langgraph.stored import Item
from perdure.langgraph.styles import Awaiting, Blocking, Style

__all__ = ["NOTHING", "Changing"]

Labels = tuple[str, ...]
Function = Callable[[dict[str, Any]], Any]
NOTHING: Final[Any] = object()


class Bounds(TypedDict, total=False):
    """What an increment doesn't pass."""

    at_most: float | None
    at_least: float | None


class Changing(Running):
    """The part of the store that changes what is there."""

    def update(
        self,
        namespace: Labels,
        key: str,
        fn: Function,
        *,
        default: dict[str, Any] = NOTHING,
        ttl: float | NotProvided | None = NOT_PROVIDED,
        **said: Unpack[AboutOptions],
    ) -> Item:
        """Put what `fn` makes of an item's value in its place, and return the item.

        `fn` gets a copy of the value, or of `default` if there is no item, and is called again if somebody else has
        changed the item meanwhile; what it raises is raised, and nothing is stored. The item keeps what is known about
        it, unless it is `said` anew (None: not known any more), what it is found by and, without a `ttl`, its end.

        Raises NotFoundError without a default, and ConflictError if others always came first.
        """
        if inspect.iscoroutinefunction(fn):
            raise errors.InvalidInputError("update calls a function; for a coroutine function await aupdate")
        return drive(self._updated(Blocking(self._calls), _Change(namespace, key, default, ttl, said), fn))

    async def aupdate(
        self,
        namespace: Labels,
        key: str,
        fn: Function,
        *,
        default: dict[str, Any] = NOTHING,
        ttl: float | NotProvided | None = NOT_PROVIDED,
        **said: Unpack[AboutOptions],
    ) -> Item:
        """Do what `update` does; `fn` may be a coroutine function."""
        return await self._updated(Awaiting(self._calls), _Change(namespace, key, default, ttl, said), fn)

    def increment(
        self, namespace: Labels, key: str, field: str = "value", by: float = 1, **bounds: Unpack[Bounds]
    ) -> float:
        """Add to a number in an item's value, and return what it is then.

        An item that isn't there is made, and a field that isn't there counts from 0. Raises LimitReachedError, and
        changes nothing, if the number would pass ``at_most`` or ``at_least``; InvalidInputError if it is no number.
        """
        return drive(self._incremented(Blocking(self._calls), namespace, key, _Step.of(field, by, bounds)))

    async def aincrement(
        self, namespace: Labels, key: str, field: str = "value", by: float = 1, **bounds: Unpack[Bounds]
    ) -> float:
        """Do what `increment` does."""
        return await self._incremented(Awaiting(self._calls), namespace, key, _Step.of(field, by, bounds))

    async def _updated(self, style: Style, change: _Change, fn: Function) -> Item:
        if not callable(fn):
            raise errors.InvalidInputError(f"fn is a function of the item's value, not {fn!r}")
        tenant, setting = self._setting()
        packed = change.packed
        async with style.turn((tenant, packed + change.key)):
            for _ in range(changes.ATTEMPTS):
                whole = await style.read(tenant, lambda unit: changes.read(unit, packed, change.key))
                made = fn(change.value(setting, whole))
                put = change.put(whole, await made if inspect.isawaitable(made) else made)
                try:
                    return await self._told(style, put)
                except errors.VersionConflictError:
                    continue
        raise changes.restless(packed, change.key)

    async def _told(self, style: Style, put: Put) -> Item:
        found: Any = (await self._run(style, [put]))[0]
        return cast("Item", found)

    async def _incremented(self, style: Style, namespace: Labels, key: str, step: _Step) -> float:
        tenant, setting = self._setting()
        change = _Change(namespace, key, {}, NOT_PROVIDED)
        made: list[tuple[float, dict[str, Any], Draft]] = []

        def make(whole: Whole | None) -> Draft:
            value = change.value(setting, whole)
            number = value[step.field] = step.taken(value.get(step.field, 0), f"item {key!r} in {namespace!r}")
            made.append((number, value, putting.draft(setting, change.put(whole, value), 0)))
            return made[-1][2]

        packed = change.packed
        async with style.lane((tenant, packed + key)):
            await style.write(tenant, lambda unit: changes.advance(unit, packed, key, make))
        number, value, draft = made[-1]
        waits = draft.embedded is items.PENDING
        self._calls.notice(tenant, changes=1, urgent=waits)
        if waits and any(isinstance(part, str) for part in value.values()):  # of a mere counter it can wait
            await self._embed(style, tenant, [Job(packed, key, draft.fields, draft.projection)])
        return number


@dataclass(frozen=True, slots=True)
class _Change:
    """Which item is changed, and what of it beside its value."""

    namespace: Labels
    key: str
    default: Any
    ttl: float | NotProvided | None
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def packed(self) -> str:
        putting.check_key(self.key)
        return namespaces.pack(namespaces.check(self.namespace))

    def value(self, setting: Setting, whole: Whole | None) -> dict[str, Any]:
        """Return the value to change, which is nobody else's."""
        if whole is not None:
            found: dict[str, Any] = stored.value_of(setting.codec, whole.record)
            return found
        if self.default is NOTHING:
            raise errors.NotFoundError(
                f"there is no item {self.key!r} in {self.namespace!r}; put it first, or pass default={{…}}"
            )
        copied: Any = setting.codec.unpack(setting.codec.pack(putting.value_of(self.default)))
        return dict(copied)

    def put(self, whole: Whole | None, value: Any) -> Put:
        """Return the put of a changed value, on the condition that nobody has changed the item since."""
        if value is None:
            raise errors.InvalidInputError("the function of an update returned None; let it return the changed value")
        if whole is None:
            return Put(self.namespace, self.key, value, ttl=self.ttl, about=self.said, if_absent=True, told=True)
        fields = None if whole.fields is None else json.loads(whole.fields)
        return Put(
            self.namespace,
            self.key,
            value,
            index=False if fields == [] else fields,
            ttl=KEPT if isinstance(self.ttl, NotProvided) else self.ttl,
            about={**abouts.plain(whole.record.about), **self.said},
            if_version=whole.record.version,
            if_updated=whole.record.updated_at,
            told=True,
        )


@dataclass(frozen=True, slots=True)
class _Step:
    """What is added to which field, and what it doesn't pass."""

    field: str
    by: float
    at_most: float | None
    at_least: float | None

    @classmethod
    def of(cls, field: str, by: float, bounds: Bounds) -> _Step:
        """Check what an increment was given."""
        if unknown := set(bounds) - {"at_most", "at_least"}:
            raise errors.InvalidInputError(f"{min(unknown)!r} is no bound of an increment; at_most and at_least are")
        if not isinstance(field, str):
            raise errors.InvalidInputError(f"field is the name of one, not {field!r}")
        for name, given in (("by", by), *bounds.items()):
            if not (_is_number(given) or (given is None and name != "by")):
                raise errors.InvalidInputError(f"{name} is a number, not {given!r}")
        return cls(field, by, bounds.get("at_most"), bounds.get("at_least"))

    def taken(self, number: Any, where: str) -> float:
        """Return a number after this step. Raises LimitReachedError if it would pass a bound."""
        if not _is_number(number):
            raise errors.InvalidInputError(
                f"field {self.field!r} of {where} is {type(number).__name__}, to which nothing can be added; "
                "name a field that is a number"
            )
        after = self._sum(number, where)
        bound = _passed(after, self.by, self.at_most, self.at_least)
        if bound is not None:
            raise errors.LimitReachedError(
                f"field {self.field!r} of {where} is {number}, and {self.by} more would pass {bound}; it was left so",
                current=number,
            )
        return after

    def _sum(self, number: Any, where: str) -> float:
        try:
            found: float = number + self.by
        except OverflowError:  # an int that no float can hold
            found = math.nan
        if _is_number(found):
            return found
        raise errors.InvalidInputError(f"field {self.field!r} of {where} would be no number after this; it was left so")


def _is_number(given: object) -> bool:
    return (isinstance(given, int) and not isinstance(given, bool)) or (
        isinstance(given, float) and not math.isnan(given)
    )


def _passed(after: float, by: float, at_most: float | None, at_least: float | None) -> float | None:
    """Return the bound that a number would pass. One that is beyond it already may come back."""
    if at_most is not None and after > at_most and by >= 0:
        return at_most
    return at_least if at_least is not None and after < at_least and by <= 0 else None
