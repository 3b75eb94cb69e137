"""Items: long-term memory, one value for each namespace and key. What has expired is gone for every read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.core import abouts, filters, namespaces
from perdure.core.filters import searching
from perdure.model import About

if TYPE_CHECKING:
    from perdure.core.unit import Unit
    from perdure.engine import Row

__all__ = [
    "Draft",
    "Record",
    "count",
    "expiring_tenants",
    "get",
    "is_due",
    "put",
    "record",
    "refresh",
    "search",
    "sweep",
    "tenants",
]

LONGEST_KEY = 1024
SWEPT_AT_ONCE = 500
PENDING: Final = None
"""`embedded` of an item whose vectors are to follow."""
NOTHING_TO_EMBED: Final = 0
UNASKED: Final = -1
"""`embedded` of an item that was stored by a memory without an index."""
UNSAID: Final = 0
SAID: Final = 1
KEPT: Final = 2
ABSENT: Final = 0
_MANY = 4
"""Items that are worth one statement for all."""
_PAGE = 512
_REFRESH_STEP = 1000


@dataclass(frozen=True, slots=True)
class Draft:
    """An item ready to be stored. Times are microseconds; `place`: how many operations of its batch come before it.

    `said`: who says when it ends: this put, by `ttl` or `expires_at`; a policy, or else `fallback`, a TTL; or the item
    that is changed. `fields`: the paths it is found by, JSON. `embedded`: PENDING if vectors are to follow.
    `if_version`: only in the place of that version; ABSENT: only in no item's. `if_updated`: and only if
    that one was stored then.
    """

    namespace: str
    key: str
    value: bytes
    projection: str
    ttl: int | None
    subject: str | None
    place: int = 0
    about: About = abouts.NOTHING
    fields: str | None = None
    embedded: int | None = UNASKED
    said: int = SAID
    expires_at: int | None = None
    fallback: int | None = None
    if_version: int | None = None
    if_updated: int | None = None

    @property
    def ends(self) -> bool:
        """Whether it will expire, as far as is known without its policy."""
        said = self.fallback if self.said == UNSAID else self.ttl
        return said is not None or self.expires_at is not None

    def row(self, now: int) -> dict[str, object]:
        """Return what statements that store it are given."""
        return {
            "namespace": self.namespace,
            "key": self.key,
            "subject": self.subject,
            "start": now,
            "now": now + self.place,  # what is put later in a batch is newer, in whichever order rows are written
            "said": self.said,
            "expires_at": self.expires_at,
            "ttl": self.ttl,
            "fallback": self.fallback,
            "hidden": abouts.hides(self.about),
            "embedded": self.embedded,
            "fields": self.fields,
            "about": abouts.write(self.about),
            "projection": self.projection,
            "value": self.value,
        }


class Record(NamedTuple):
    """An item as it is stored. Times and `ttl` are microseconds. `refresh`: whether a policy has reads move its end."""

    namespace: tuple[str, ...]
    key: str
    version: int
    created_at: int
    updated_at: int
    expires_at: int | None
    ttl: int | None
    refresh: int | None
    about: About
    value: bytes


async def put(unit: Unit, draft: Draft) -> None:
    """Store an item in the place of the one with its key; that one's `created_at` is kept, its version goes on."""
    await unit.post("item_put", **draft.row(unit.now))


async def get(unit: Unit, keys: Sequence[tuple[str, str]]) -> list[list[Record]]:
    """Return for each namespace and key the item, in a list that is empty if there is none."""
    if unit.distant or len(keys) < _MANY:  # a pipeline of them is one round trip, and each surely goes by its key
        asked = [("item_get", {"namespace": namespace, "key": key, "now": unit.now}) for namespace, key in keys]
        return [[record(row) for row in rows] for rows in await unit.together(asked)]
    found: list[list[Record]] = [[] for _ in keys]
    for at, *row in await unit.all("items_get", keys=json.dumps(keys), now=unit.now):
        found[at].append(record(tuple(row)))
    return found


async def search(
    unit: Unit,
    prefix: tuple[str, ...],
    wanted: filters.Filter,
    *,
    limit: int,
    offset: int,
    shown: int = 0,
) -> list[Record]:
    """Return the items below a prefix that meet a filter, the newest update first.

    `shown`: for which reasons (`abouts.SUPERSEDED`, `abouts.QUARANTINED`) an item may be hidden and found all the same.
    """
    low, high = namespaces.span(prefix)
    span = {"low": low, "high": high, "now": unit.now, "shown": shown}
    found = await searching.find(unit, span, wanted, limit=limit, offset=offset)
    rows = [row for at in range(0, len(found), _PAGE) for row in await _rows(unit, "items_of", found[at : at + _PAGE])]
    return [record(row) for row in rows]


async def _rows(unit: Unit, name: str, ids: list[int]) -> list[Row]:
    return await unit.all(name, ids=json.dumps(ids))


async def count(unit: Unit, prefix: tuple[str, ...]) -> int:
    """Return how many items are below a prefix."""
    low, high = namespaces.span(prefix)
    row = await unit.one("items_count", low=low, high=high, now=unit.now)
    return int(row[0]) if row else 0


def is_due(record: Record, now: int) -> bool:
    """Tell whether a read should move an item's end; less than a thousandth of its TTL isn't worth a write."""
    if record.ttl is None or record.expires_at is None:
        return False
    return (now + record.ttl - record.expires_at) * _REFRESH_STEP >= record.ttl


async def refresh(unit: Unit, records: Iterable[Record]) -> None:
    """Move the end of items that were read; not of those that have expired or been changed since."""
    for record in records:
        await unit.post(
            "item_refresh",
            namespace=namespaces.pack(record.namespace),
            key=record.key,
            seen=record.expires_at,
            now=unit.now,
        )


async def expiring_tenants(unit: Unit) -> list[str]:
    """Return the tenants that have something to sweep."""
    return [row[0] for row in await unit.all("items_expiring_tenants", now=unit.now)]


async def tenants(unit: Unit) -> list[str]:
    """Return the tenants that have items."""
    return [row[0] for row in await unit.all("items_tenants")]


async def sweep(unit: Unit) -> int:
    """Remove some items and versions that have expired; return how many, 0 if there are no more."""
    swept = await unit.run("items_sweep", now=unit.now, limit=SWEPT_AT_ONCE)
    return swept or await unit.run("versions_sweep", now=unit.now, limit=SWEPT_AT_ONCE)


def record(row: Row) -> Record:
    """Return an item from its columns."""
    packed, key, version, created_at, updated_at, expires_at, ttl, refresh, about, value = row
    return Record(
        namespace=namespaces.unpack(packed),
        key=key,
        version=version,
        created_at=created_at,
        updated_at=updated_at,
        expires_at=expires_at,
        ttl=ttl,
        refresh=refresh,
        about=abouts.read(about),
        value=value,
    )
