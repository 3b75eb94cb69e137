"""Records: a checkpoint as one row's bytes. Channel values are the skeletons that `logs` wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ormsgpack

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
        codec.pack(record.metadata, "$.metadata"),
        record.channels,
        codec.pack(record.extras),
    ]
    try:
        packed = ormsgpack.packb(fields)
    except TypeError as error:
        raise errors.UnsupportedValueError(f"the checkpoint's names or versions can't be kept: {error}") from error
    return codec.seal(packed)


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


def _dict(value: object) -> dict[str, Any]:
    if type(value) is not dict:
        raise TypeError(type(value))
    return value


def load(codec: Codec, row: tuple[Any, ...], where: str) -> Record:
    """Return the record of a row (ns, seq, id, parent, payload)."""
    ns, seq, packed_id, parent, payload = row
    try:
        fields: Any = ormsgpack.unpackb(codec.open(payload, where=where))
        v, ts, table, versions, seen, updated, metadata, channels, extras = fields
        table = [_long(version) for version in table]
        return Record(
            id=ids.unpack(packed_id),
            v=v,
            ts=ts,
            versions={name: table[at] for name, at in versions.items()},
            seen={node: {name: table[at] for name, at in known.items()} for node, known in seen.items()},
            updated=updated,
            metadata=_dict(codec.unpack(metadata, where=where)),
            channels=channels,
            extras=_dict(codec.unpack(extras, where=where)),
            ns=ns,
            seq=seq,
            parent=parent,
        )
    except (TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
        msg = f"{where}: a stored checkpoint has another form ({error})"
        raise errors.CorruptValueError(msg) from error
