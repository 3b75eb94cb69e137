"""Looks: the rows that a run begins with. In one round trip where questions travel; in small ones where they don't.

A large statement takes SQLite longer to set up than several small ones take to run (decision 15).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perdure.core import ids, spaces, threads

if TYPE_CHECKING:
    from perdure.core.threads import State
    from perdure.core.unit import Unit
    from perdure.core.views import Known
    from perdure.engine import Row
    from perdure.model import Address

__all__ = ["Look", "take"]


@dataclass(slots=True)
class Look:
    """A thread's state, and of the addressed or newest checkpoint the row, its parent's id and its pending writes.

    `logs`: where each log ends, None if that was not asked.
    """

    state: State
    row: Row | None = None
    parent: bytes | None = None
    pending: list[Row] | None = None
    logs: dict[str, tuple[int, int]] | None = None


async def take(unit: Unit, address: Address, known: Known | None) -> Look | None:
    """Return what is there, None if there is no such thread. `known`: what the process remembers of it."""
    if not unit.distant:
        return await _closely(unit, address)
    state = known.state if known is not None else None
    if known is not None and state is not None and address.checkpoint is None:
        ns = known.spaces.get(address.ns) if address.ns else 0
        if ns is not None and (look := await _again(unit, address, state, ns)) is not None:
            return look
    is_listed = known is not None and known.listed
    return await _from_afar(unit, address, state.revision if state is not None and is_listed else -1)


async def _again(unit: Unit, address: Address, state: State, ns: int) -> Look | None:
    """Look at the newest checkpoint of a namespace whose number is known; None if the thread was begun anew."""
    where = {"generation": state.generation, "ns": ns}
    states, rows, pending = await unit.together(
        [("thread_get", {"thread": address.thread}), ("head_get", where), ("head_writes", where)]
    )
    if not states or states[0][0] != state.generation:
        return None
    look = Look(threads.State(*states[0]), pending=pending)
    if rows:
        *row, look.parent = rows[0]
        look.row = tuple(row)
    return look


async def _from_afar(unit: Unit, address: Address, seen: int) -> Look | None:
    thread, where = {"thread": address.thread}, {"thread": address.thread, "space": address.ns}
    named = {} if address.checkpoint is None else {"id": ids.pack(address.checkpoint)}
    kind = "named" if named else "latest"
    states, rows, pending, ends = await unit.together(
        [
            ("thread_get", thread),
            (f"{kind}_get", {**where, **named}),
            (f"{kind}_writes", {**where, **named}),
            ("log_ends", {**thread, "revision": seen}),
        ]
    )
    if not states:
        return None
    look = Look(threads.State(*states[0]), pending=pending)
    if rows:
        *row, look.parent = rows[0]
        look.row = tuple(row)
    if look.state.revision != seen:
        look.logs = {name: (log, end) for name, log, end in ends}
    return look


async def _closely(unit: Unit, address: Address) -> Look | None:
    state = await threads.find(unit, address.thread)
    if state is None:
        return None
    look = Look(state)
    ns = await spaces.find(unit, state.generation, address.ns)
    if ns is None:
        return look
    where = {"generation": state.generation, "ns": ns}
    if address.checkpoint is None:
        look.row = await unit.one("checkpoint_head", **where)
    else:
        look.row = await unit.one("checkpoint_get", **where, id=ids.pack(address.checkpoint))
    if look.row is not None:
        _, seq, _, parent, _ = look.row
        look.pending = await unit.all("writes_between", generation=state.generation, low=seq, high=seq)
        above = await unit.one("checkpoint_id", **where, seq=parent) if parent is not None else None
        look.parent = above[0] if above else None
    return look
