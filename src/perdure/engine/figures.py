"""Figures: how large a database is, what is in it, and which migrations it has had."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Figures", "Migration", "Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table on disk, with the rows of all tenants. `rows` is an estimate, None if there is none.

    `index_bytes` and `overflow_bytes` (long values beside the rows) are part of `bytes`; None: counted with the rest.
    """

    name: str
    rows: int | None
    bytes: int
    index_bytes: int | None = None
    overflow_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Migration:
    """A migration that was applied, at `applied_at` microseconds since 1970; `known`: it is what this release knows."""

    name: str
    applied_at: int
    known: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """What `perdure inspect` shows. `bytes` is what the whole database takes; `pools` are PostgreSQL's."""

    version: str
    bytes: int
    tables: list[Table]
    migrations: list[Migration]
    pools: dict[str, dict[str, int]] = field(default_factory=dict)
