"""Records: a checkpoint as one row's bytes. Channel values are the skeletons that `logs` wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perdure import errors
from perdure.core import ids
from perdure.core.codec import Codec

__all__ = ["Record", "Version", "dump", "load"]

Version = str | int | float
Versions = dict[str, Version]
_USUAL = re.compile(r"(0{13}[0-9]{19})\.([0-9]{8})")


@dataclass(slots=True)
class Record:
    """One checkpoint. `channels` holds stored bytes; `extras` keys of the checkpoint we have no name for."""

    id: str
    v: int
    ts: str
    versions: Versions
    seen: dict[str, Versions]
    updated: list[str] | None
    metadata: dict[str, Any]
    channels: dict[str, bytes] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)
    ns: int = 0
    seq: int = 0
    parent: int | None = None


def dump(codec: Codec, record: Record) -> bytes:
    """Return the bytes of a record. Versions, which repeat a lot, are written once each."""
    table: dict[tuple[type, Version], int] = {}

    def index(versions: Mapping[str, Version]) -> dict[str, int]:
        return {name: table.setdefault((type(v), v), len(table)) for name, v in versions.items()}

    versions = index(record.versions)
    seen = {node: index(known) for node, known in record.seen.items()}
    fields = [
        record.v,
        record.ts,
        [_short(version) for _, version in table],
        versions,
        seen,
        record.updated,
        record.metadata,
        record.channels,
        record.extras,
    ]
    return codec.seal(codec.pack(fields))


def _short(version: Version) -> Version | list[int]:
    """Return a version of the usual form as two numbers, any other as it is."""
    usual = type(version) is str and _USUAL.fullmatch(version)
    return [int(usual[1]), int(usual[2])] if usual else version


def _long(version: Any) -> Version:
    if type(version) is list:
        number, tail = version
        return f"{number:032}.{tail:08}"
    found: Version = version
    return found


def load(codec: Codec, row: tuple[Any, ...], where: str) -> Record:
    """Return the record of a row (ns, seq, id, parent, payload)."""
    ns, seq, packed_id, parent, payload = row
    fields: Any = codec.unpack(codec.open(payload, where=where), where=where)
    try:
        v, ts, table, versions, seen, updated, metadata, channels, extras = fields
        table = [_long(version) for version in table]
        return Record(
            id=ids.unpack(packed_id),
            v=v,
            ts=ts,
            versions={name: table[at] for name, at in versions.items()},
            seen={node: {name: table[at] for name, at in known.items()} for node, known in seen.items()},
            updated=updated,
            metadata=metadata,
            channels=channels,
            extras=extras,
            ns=ns,
            seq=seq,
            parent=parent,
        )
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        msg = f"{where}: a stored checkpoint has another form ({error})"
        raise errors.CorruptValueError(msg) from error
