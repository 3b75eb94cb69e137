"""Spaces: a thread's checkpoint namespaces, by number, and finding a checkpoint in one."""

from __future__ import annotations

from perdure.core import ids
from perdure.core.unit import Unit

__all__ = ["find", "seq_of"]


async def find(unit: Unit, generation: int, name: str) -> int | None:
    """Return the number of a checkpoint namespace, None if the thread has none of that name."""
    if not name:
        return 0
    row = await unit.one("space_get", generation=generation, name=name)
    return int(row[0]) if row else None


async def seq_of(unit: Unit, generation: int, ns: int | None, checkpoint: str) -> int | None:
    """Return the seq of a checkpoint, None if it is not there."""
    if ns is None or not checkpoint:
        return None
    row = await unit.one("checkpoint_seq", generation=generation, ns=ns, id=ids.pack(checkpoint))
    return int(row[0]) if row else None
