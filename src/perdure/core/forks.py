"""Forks: a new thread that begins as another one was at some checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

from perdure import errors
from perdure.core import pruning, records, threads
from perdure.core.codec import Codec
from perdure.core.records import Record
from perdure.core.unit import Unit
from perdure.model import Address, Thread

__all__ = ["fork"]


async def fork(unit: Unit, codec: Codec, source: str, target: str, checkpoint: str | None) -> Thread:
    """Copy a thread up to a checkpoint of its root namespace, and what its subgraphs did until then.

    Raises NotFoundError, and ConflictError if the target exists.
    """
    if not await threads.copy(unit, source, target):
        raise threads.missing(source)
    state = await threads.find(unit, target)
    if checkpoint is not None and state is not None:
        await _cut(unit, codec, target, state.generation, checkpoint)
    shown = await threads.show(unit, target)
    if shown is None:
        raise threads.missing(target)
    return shown


async def _cut(unit: Unit, codec: Codec, thread: str, generation: int, checkpoint: str) -> None:
    where = str(Address(unit.tenant, thread))
    rows = await unit.all("checkpoint_rows", generation=generation)
    found = {(row[0], row[1]): records.load(codec, row, where) for row in rows}
    last = next((r for r in found.values() if r.ns == 0 and r.id == checkpoint), None)
    if last is None:
        raise errors.NotFoundError(
            f"the thread has no checkpoint {checkpoint!r}; 'perdure threads history' lists those there are"
        )
    kept = _line(found, last)
    keep = {(0, seq) for seq in kept} | {key for key, record in found.items() if key[0] and _is_under(record, kept)}
    if any(record.parent == last.seq for key, record in found.items() if key[0] == 0):
        # What its tasks went on to produce belongs to the steps that are left out.
        await unit.post("writes_delete_of", generation=generation, seq=last.seq)
    await pruning.remove(unit, codec, thread, set(found) - keep, turns=True)


def _line(found: Mapping[tuple[int, int], Record], last: Record) -> dict[int, str]:
    """Return the seq and id of a checkpoint and its ancestors."""
    line = {last.seq: last.id}
    record: Record | None = last
    while record is not None and record.parent is not None:
        record = found.get((0, record.parent))
        if record is not None:
            line[record.seq] = record.id
    return line


def _is_under(record: Record, line: Mapping[int, str]) -> bool:
    """Whether a subgraph's checkpoint was made in a step before the last one, whose tasks have yet to run."""
    parents = record.metadata.get("parents") or {}
    return parents.get("") in set(line.values()) - {line[max(line)]}
