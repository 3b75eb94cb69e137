"""Shapes: which version of the graph's state a checkpoint holds, and how an older one becomes the present one.

A checkpoint says its version among its extras; one that says nothing holds version 1. Migrations change a state that
was read, at the root namespace, and give every channel they were shown a new version: the next step stores it anew.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.serde.types import INTERRUPT, _DeltaSnapshot

from perdure import errors
from perdure.core.records import Record, Version

__all__ = ["MARK", "Migrations", "Shape", "State", "is_internal", "mark", "migrate", "steps", "version_of", "written"]

MARK = "perdure_schema_version"
"""The extra of a checkpoint that says its state's version."""

Migrations = Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]
_START = "__start__"
_TAILS = 10**8


@dataclass(frozen=True, slots=True)
class Shape:
    """The version of the state that a program works with, and what makes it of older ones."""

    version: int = 1
    migrations: Migrations = field(default_factory=dict)

    @classmethod
    def of(cls, version: object, migrations: object) -> Shape:
        """Return a shape as `Memory.open` was given it. Raises ConfigurationError."""
        if type(version) is not int or version < 1:
            raise errors.ConfigurationError(f"schema_version is a whole number from 1, not {version!r}")
        if migrations is None:
            return cls(version)
        if not isinstance(migrations, Mapping):
            raise errors.ConfigurationError("migrations is a dict from a version to the function that leads on from it")
        for at, function in migrations.items():
            _check(version, at, function)
        return cls(version, dict(migrations))


@dataclass(slots=True)
class State:
    """What a migrated checkpoint holds instead of what is stored. `kept`: the shown channels that are as they were."""

    values: dict[str, Any]
    versions: dict[str, Version]
    seen: dict[str, dict[str, Version]]
    updated: list[str] | None
    kept: frozenset[str] = frozenset()


def _check(version: int, at: object, function: object) -> None:
    if type(at) is not int or not 1 <= at < version:
        raise errors.ConfigurationError(
            f"migrations has the key {at!r}: each key is the version that its function leads on from, "
            f"so with schema_version={version} a whole number from 1 to {version - 1}"
            if version > 1
            else f"migrations has the key {at!r}, but schema_version is 1: raise it to the version they lead to"
        )
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise errors.ConfigurationError(
            f"migrations[{at}] is a plain function from the state's values to those of version {at + 1}, "
            f"not {function!r}"
        )


def is_internal(channel: str) -> bool:
    """Tell whether a channel is LangGraph's own."""
    return channel.startswith(("__", "branch:", "join:"))


def mark(record: Record, version: int) -> None:
    """Let a checkpoint say its state's version; version 1 needs no saying."""
    record.extras.pop(MARK, None)
    if version != 1:
        record.extras[MARK] = version


def written(values: Mapping[str, Any]) -> set[str]:
    """Return the channels that the input of a run, which is stored with a state and goes into the next one, gives."""
    if _START not in values:
        return set()
    given = values[_START]
    found = given if isinstance(given, Mapping) else getattr(given, "__dict__", {_START: given})
    return set(found)


def version_of(extras: Mapping[str, Any], where: str) -> int:
    """Return the version that a checkpoint says. Raises CorruptValueError."""
    found = extras.get(MARK, 1)
    if type(found) is not int or found < 1:
        raise errors.CorruptValueError(f"{where}: a stored checkpoint says that its state is of version {found!r}")
    return found


def steps(shape: Shape, record: Record, where: str) -> range:
    """Return the versions whose migrations a checkpoint needs. Raises StateVersionError if it can't be read."""
    stored = version_of(record.extras, where)
    if stored > shape.version:
        raise errors.StateVersionError(
            f"{where} has a state of version {stored}, and this memory was opened with schema_version="
            f"{shape.version}: deploy the newer code, which opens it with schema_version={stored}",
            stored=stored,
            opened=shape.version,
        )
    needed = range(stored, shape.version)
    missing = [at for at in needed if at not in shape.migrations]
    if missing:
        raise errors.StateVersionError(
            f"{where} has a state of version {stored}, and this memory was opened with schema_version="
            f"{shape.version} and no migration from {missing[0]}: add migrations={{{missing[0]}: function}} to "
            f"Memory.open, with a function from the state's values of version {missing[0]} to those of "
            f"{missing[0] + 1}",
            stored=stored,
            opened=shape.version,
        )
    return needed


def migrate(
    shape: Shape,
    record: Record,
    values: Mapping[str, Any],
    *,
    where: str,
    pack: Callable[[object], bytes] | None = None,
) -> State:
    """Return the state of a checkpoint as the migrations that it needs leave it.

    `values` are nobody else's: a migration may change them in place. With `pack` it is found out what it left alone.
    A state that holds nothing yet, as a thread's first one, is the same in every version, and stays.
    Raises StateMigrationError.
    """
    shown = {name: value for name, value in values.items() if _is_shown(name, value)}
    hidden = {name: value for name, value in values.items() if name not in shown}
    before = {name: pack(value) for name, value in shown.items()} if pack is not None else {}
    found = dict(shown)
    for at in steps(shape, record, where) if shown else ():
        found = _step(shape, at, found, hidden, where)
    kept = {name for name, packed in before.items() if name in found and pack and pack(found[name]) == packed}
    versions, seen = _versions(shape, record, set(shown), set(found))
    updated = None if record.updated is None else [n for n in record.updated if n in found or n not in shown]
    return State({**hidden, **found}, versions, seen, updated, frozenset(kept))


def _is_shown(name: str, value: object) -> bool:
    """Whether migrations see a channel. What is kept as deltas is made of writes that they can't see."""
    return not is_internal(name) and type(value) is not _DeltaSnapshot


def _step(shape: Shape, at: int, given: dict[str, Any], hidden: Mapping[str, Any], where: str) -> dict[str, Any]:
    function = shape.migrations[at]
    named = f"migrations[{at}] ({getattr(function, '__qualname__', type(function).__name__)})"
    told = f"{where} has a state of an older version, and {named}, which leads to version {at + 1},"
    try:
        found = function(given)
    except Exception as error:
        raise errors.StateMigrationError(
            f"{told} raised {type(error).__name__}; nothing was changed. Correct the function"
        ) from error
    if not isinstance(found, dict):
        raise errors.StateMigrationError(
            f"{told} returned {type(found).__name__} and no dict; nothing was changed. Let it return the state's values"
        )
    for name in found:
        if not isinstance(name, str) or is_internal(name) or name in hidden:
            raise errors.StateMigrationError(
                f"{told} returned a channel {name!r}, which no migration can give a value; nothing was changed"
            )
    return dict(found)


def _versions(
    shape: Shape, record: Record, shown: set[str], found: set[str]
) -> tuple[dict[str, Version], dict[str, dict[str, Version]]]:
    """Return the versions of channels and those that nodes have seen: who had seen a channel has seen what it became.

    Every reader of a checkpoint gets the same ones.
    """
    old, gone = record.versions, shown - found
    fresh = _fresh(old, found, shape.version)
    versions = {name: version for name, version in old.items() if name not in gone} | fresh
    seen = {
        node: {
            name: fresh[name] if name in found and version == old.get(name) else version
            for name, version in known.items()
            if name not in gone
        }
        for node, known in record.seen.items()
    }
    if new := sorted(found - old.keys()):  # no run stops before a node again because of a channel nobody wrote
        seen[INTERRUPT] = {**seen.get(INTERRUPT, {}), **{name: fresh[name] for name in new}}
    return versions, seen


def _fresh(old: Mapping[str, Any], found: set[str], target: int) -> dict[str, Version]:
    """Return other versions than the old ones, in the same order: LangGraph compares them with each other."""
    latest = max(old.values(), default=f"{1:032}.")
    if isinstance(latest, str):
        return {name: _retailed(old.get(name, latest), target) for name in sorted(found)}
    ranks = sorted({old[name] for name in found if name in old})  # a thread that came here with whole numbers
    return {name: latest + 1 + (ranks.index(old[name]) if name in old else len(ranks)) for name in sorted(found)}


def _retailed(version: str, target: int) -> str:
    """Return a version with the same number and another tail."""
    head, _, tail = version.partition(".")
    digest = hashlib.blake2b(f"{version}:{target}".encode(), digest_size=8).digest()
    made = f"{int.from_bytes(digest) % _TAILS:08}"
    return f"{head}.{made if made != tail else f'{(int(made) + 1) % _TAILS:08}'}"
