"""Keeping: policies of namespaces, and what items were."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, cast

from langgraph.store.base import Item

from perdure import errors
from perdure.core import changes, items, namespaces, policies, threads, versions
from perdure.core.codec import Codec
from perdure.core.policies import Change
from perdure.engine import drive
from perdure.langgraph import moments, putting, stored
from perdure.langgraph.running import Running
from perdure.langgraph.styles import Awaiting, Blocking, Style
from perdure.model import Policy, Version

__all__ = ["UNSET", "Keeping"]

Labels = tuple[str, ...]
UNSET: Final[Any] = object()
"""What a policy says of this stays as it is."""


class Keeping(Running):
    """The part of the store that is about how long items stay, and about what they were."""

    def set_policy(
        self,
        prefix: Labels,
        *,
        ttl: float | None = UNSET,
        refresh_on_read: bool | None = UNSET,
        history: bool | None = UNSET,
    ) -> None:
        """Say what holds for the items of the namespaces with a prefix; an empty one: for all of the tenant's.

        `ttl`: the minutes that an item stays whose put says nothing of it; 0: for ever. `refresh_on_read`: whether a
        read begins them anew. `history`: whether what items were is kept. None takes back what was said, so that a
        shorter prefix says it again; what isn't given stays. It holds from the next put, read or delete on.
        """
        given = _change(prefix, ttl, refresh_on_read, history)
        drive(self._set(Blocking(self._calls), given))

    async def aset_policy(
        self,
        prefix: Labels,
        *,
        ttl: float | None = UNSET,
        refresh_on_read: bool | None = UNSET,
        history: bool | None = UNSET,
    ) -> None:
        """Do what `set_policy` does."""
        given = _change(prefix, ttl, refresh_on_read, history)
        await self._set(Awaiting(self._calls), given)

    def policies(self) -> list[Policy]:
        """Return the tenant's policies, in the order of their prefixes."""
        return self._calls.read(self._tenant(), policies.all_of)

    async def apolicies(self) -> list[Policy]:
        """Do what `policies` does."""
        return await self._calls.aread(self._tenant(), policies.all_of)

    def history(self, namespace: Labels, key: str, limit: int = 100) -> list[Version]:
        """Return what an item is and was, the newest first, as far as its policy has kept it.

        What an item was is gone when the time of that version is over. A deleted item has its versions still.
        """
        return drive(self._history(Blocking(self._calls), namespace, key, limit))

    async def ahistory(self, namespace: Labels, key: str, limit: int = 100) -> list[Version]:
        """Do what `history` does."""
        return await self._history(Awaiting(self._calls), namespace, key, limit)

    def sweep(self) -> int:
        """Remove items and versions that have expired, in small transactions; return how many.

        They are gone for reads already, and an open memory does this itself. A view of a tenant sweeps that tenant's,
        any other sweeps everybody's.
        """
        return drive(self._swept(Blocking(self._calls)))

    async def asweep(self) -> int:
        """Do what `sweep` does."""
        return await self._swept(Awaiting(self._calls))

    async def _swept(self, style: Style) -> int:
        scope, swept = self._calls.scope, 0
        named = [scope.tenant] if scope.named else []
        for tenant in named or await style.survey(items.expiring_tenants):
            while count := await style.write(tenant, items.sweep):
                swept += count
        for tenant in named or await style.survey(items.tenants):
            while await style.read(tenant, changes.is_long):
                await style.write(tenant, changes.trim)
        return swept

    async def _set(self, style: Style, given: Change) -> None:
        tenant = self._tenant()
        await style.write(tenant, lambda unit: policies.change(unit, given))
        self._calls.notice(tenant, changes=0, urgent=bool(given.ttl))

    async def _history(self, style: Style, namespace: Labels, key: str, limit: int) -> list[Version]:
        packed, name = namespaces.pack(namespaces.check(namespace)), putting.check_key(key)
        most = threads.check_limit(limit)
        found = await style.read(self._tenant(), lambda unit: versions.history(unit, packed, name, limit=most))
        where = f"a version of item {name!r} in {namespace!r}"
        return [_version(self._calls.codec, past, where) for past in found]

    async def _then(self, style: Style, namespace: Labels, key: str, moment: datetime) -> Item | None:
        """Return what an item was at a moment."""
        packed, name = namespaces.pack(namespaces.check(namespace)), putting.check_key(key)
        at = moments.instant(moment, "as_of")
        found = await style.read(self._tenant(), lambda unit: versions.at(unit, packed, name, at))
        return None if found is None else stored.item(self._calls.codec, found)


def _change(prefix: Labels, ttl: object, refresh: object, history: object) -> Change:
    given = {"ttl": ttl, "refresh_on_read": refresh, "history": history}
    for name in ("refresh_on_read", "history"):
        if given[name] is not UNSET and not isinstance(given[name], bool | None):
            raise errors.InvalidInputError(f"{name} is True, False or None, not {given[name]!r}")
    return Change(
        prefix=namespaces.check_path(prefix, "prefix of a policy"),
        ttl=None if ttl is UNSET else 0 if type(ttl) in {int, float} and ttl == 0 else moments.micros(ttl),
        refresh=_flag(refresh),
        history=_flag(history),
        said=frozenset(name for name, said in zip(("ttl", "refresh", "history"), given.values(), strict=True)
                       if said is not UNSET),
    )  # fmt: skip


def _flag(given: object) -> int | None:
    return None if given is UNSET or given is None else int(bool(given))


def _version(codec: Codec, past: versions.Past, where: str) -> Version:
    return Version(
        value=cast("dict[str, Any]", codec.unpack(codec.open(past.value, where=where), where=where)),
        version=past.version,
        about=past.about,
        updated_at=threads.moment(past.updated_at),
        replaced_at=None if past.replaced_at is None else threads.moment(past.replaced_at),
    )
