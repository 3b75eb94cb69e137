"""Changes of items: on a condition, by a function of what was there, and removal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from perdure import errors
from perdure.core import items, namespaces
from perdure.core.items import ABSENT, Draft, Record

if TYPE_CHECKING:
    from perdure.core.unit import Unit

__all__ = ["ATTEMPTS", "Whole", "add", "advance", "delete", "is_long", "put", "read", "replace", "restless", "trim"]

ATTEMPTS: Final = 200
"""How often a change is tried. Each time that it fails, somebody else's has succeeded."""
KEPT_CHANGES: Final = 10_000
"""Changes of items of one tenant that are remembered: who has looked since needs not look at everything again."""
TRIMMED_AT_ONCE: Final = 1000
_ANY: Final = (0, 2**62)


@dataclass(frozen=True, slots=True)
class Whole:
    """An item with the paths it is found by, JSON."""

    record: Record
    fields: str | None


async def read(unit: Unit, namespace: str, key: str, *, lock: bool = False) -> Whole | None:
    """Return an item that is to be changed; with `lock`, nobody else changes it until this work ends."""
    row = await unit.one("item_lock" if lock else "item_read", namespace=namespace, key=key, now=unit.now)
    return Whole(items.record(row[1:]), row[0]) if row else None


async def put(unit: Unit, draft: Draft) -> None:
    """Store an item; if on a condition that isn't met, raise VersionConflictError with the record that is there."""
    if draft.if_version is None:
        await items.put(unit, draft)
    elif draft.if_version == ABSENT:
        await _added(unit, draft)
    elif not await unit.run("item_change", **_condition(draft), **draft.row(unit.now)):
        raise await _conflict(unit, draft.namespace, draft.key, draft.if_version)


def _condition(draft: Draft) -> dict[str, object]:
    return {"if_version": draft.if_version, "if_updated": draft.if_updated}


async def add(unit: Unit, draft: Draft) -> Record | None:
    """Store an item where none is; None: there is one."""
    row = await unit.one("item_add", **draft.row(unit.now))
    if row is None:
        return None
    version, created_at, updated_at, expires_at, ttl = row
    return Record(
        namespace=namespaces.unpack(draft.namespace),
        key=draft.key,
        version=version,
        created_at=created_at,
        updated_at=updated_at,
        expires_at=expires_at,
        ttl=ttl,
        refresh=None,
        about=draft.about,
        value=draft.value,
    )


async def _added(unit: Unit, draft: Draft) -> Record:
    added = await add(unit, draft)
    if added is None:
        raise await _conflict(unit, draft.namespace, draft.key, ABSENT)
    return added


async def replace(unit: Unit, draft: Draft) -> Record:
    """Do what `put` does, and return the item as it is then."""
    if draft.if_version == ABSENT:
        return await _added(unit, draft)
    await put(unit, draft)
    whole = await read(unit, draft.namespace, draft.key)
    if whole is None:
        raise restless(draft.namespace, draft.key)
    return whole.record


async def advance(unit: Unit, namespace: str, key: str, make: Callable[[Whole | None], Draft]) -> None:
    """Store what `make` makes of the item that is there, or of None, with nobody else's change in between."""
    for _ in range(ATTEMPTS):
        whole = await read(unit, namespace, key, lock=True)
        draft = make(whole)
        if whole is not None:
            await unit.post("item_change", **_condition(draft), **draft.row(unit.now))
            return
        if await add(unit, draft) is not None:
            return
    raise restless(namespace, key)


async def delete(unit: Unit, namespace: str, key: str, if_version: int | None = None, *, purge: bool = False) -> None:
    """Remove an item, if there is one, and with `purge` its versions too. Raises VersionConflictError."""
    least, most = _ANY if if_version is None else (if_version, if_version)
    where = {"namespace": namespace, "key": key, "least": least, "most": most, "now": unit.now}
    where["alive"] = 0 if if_version is None else unit.now
    if purge:
        await unit.post("item_forget", namespace=namespace, key=key)
    else:
        await unit.post("item_keep", namespace=namespace, key=key, now=unit.now)
    name = "item_purge" if purge else "item_delete"
    if if_version is None:
        await unit.post(name, **where)
    elif not await unit.run(name, **where):
        raise await _conflict(unit, namespace, key, if_version)


async def _conflict(unit: Unit, namespace: str, key: str, wanted: int) -> errors.VersionConflictError:
    whole = await read(unit, namespace, key)
    record = whole.record if whole else None
    found = f"is at version {record.version}" if record else "is not there"
    expected = f"at version {wanted}" if wanted else "absent"
    return errors.VersionConflictError(
        f"item {key!r} in {namespaces.unpack(namespace)!r} was to be {expected} and {found}; nothing was stored. "
        "Look at it again (`current` of this error), and repeat with what you find",
        current=record,
    )


def restless(namespace: str, key: str) -> errors.ConflictError:
    """Return the error for a change that always came too late."""
    return errors.ConflictError(
        f"item {key!r} in {namespaces.unpack(namespace)!r} was changed by somebody else {ATTEMPTS} times while this "
        "change was made of it; nothing was stored. Try again"
    )


async def is_long(unit: Unit) -> bool:
    """Tell whether there is something to trim."""
    return await unit.one("changes_cut", kept=KEPT_CHANGES, limit=TRIMMED_AT_ONCE) is not None


async def trim(unit: Unit) -> int:
    """Remove some of the oldest rows of the log of changes but the newest; return how many, 0 if there are no more."""
    cut = await unit.one("changes_cut", kept=KEPT_CHANGES, limit=TRIMMED_AT_ONCE)
    if cut is None:
        return 0
    where = {"tx": cut[0], "n": cut[1]}
    await unit.post("changes_mark", **where)
    return await unit.run("changes_trim", **where)
