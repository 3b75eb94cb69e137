"""Policies: how long items stay, and whether what they were is kept, by the namespace they are in.

The statements that put, read and remove items look them up themselves; nothing of them is remembered by a process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from perdure import errors
from perdure.core import namespaces
from perdure.model import Policy

if TYPE_CHECKING:
    from perdure.core.unit import Unit

__all__ = ["MINUTE", "Change", "all_of", "change"]

MINUTE: Final = 60_000_000
MOST: Final = 1000
"""Policies of a tenant: they are for kinds of namespaces, not for each."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a policy is to say, field by field; those not in `said` stay as they are. `ttl` is in microseconds."""

    prefix: tuple[str, ...]
    ttl: int | None
    refresh: int | None
    history: int | None
    said: frozenset[str]


async def change(unit: Unit, given: Change) -> None:
    """Make, change or, if it says nothing any more, remove the policy of a prefix. Raises ConflictError: too many."""
    namespace = namespaces.pack(given.prefix)
    said = {f"{name}_said": int(name in given.said) for name in ("ttl", "refresh", "history")}
    known = {row[0] for row in await unit.all("policies_of")}
    if namespace not in known and len(known) >= MOST:
        raise errors.ConflictError(
            f"this tenant has {MOST} policies, which is the limit. Give one to a prefix that many namespaces share"
        )
    await unit.post(
        "policy_put",
        namespace=namespace,
        ttl=given.ttl,
        refresh=given.refresh,
        history=given.history,
        now=unit.now,
        **said,
    )
    await unit.post("policy_drop", namespace=namespace)


async def all_of(unit: Unit) -> list[Policy]:
    """Return a tenant's policies, in the order of their prefixes."""
    return [
        Policy(
            prefix=namespaces.unpack(namespace),
            ttl=None if ttl is None else ttl / MINUTE,
            refresh_on_read=None if refresh is None else bool(refresh),
            history=None if history is None else bool(history),
        )
        for namespace, ttl, refresh, history in await unit.all("policies_of")
    ]
