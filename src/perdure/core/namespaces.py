"""Namespaces: what may be one, how it is kept in a key, and which there are.

A namespace is a tuple of 1 to 20 labels; a label is 1 to 255 characters of any Unicode but control characters and
lone surrogates. Labels are compared whole and by code point: no case folding, no normalization, and no character
means anything but itself.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from perdure import errors
from perdure.core import ids

if TYPE_CHECKING:
    from perdure.core.unit import Unit

__all__ = [
    "WILDCARD",
    "Condition",
    "End",
    "check",
    "check_path",
    "copy",
    "counts",
    "matches",
    "move",
    "pack",
    "page",
    "span",
    "unpack",
]

DEEPEST = 20
"""Labels in a namespace."""

WILDCARD = "*"
RESERVED = "langgraph"
_PAGE = 256
_SEPARATOR = "\x1f"  # no label holds it, and every character of a label comes after it
_AFTER = "\x20"
_BEFORE = "\x01"


class End(enum.Enum):
    """Which end of a namespace a condition is about."""

    PREFIX = "prefix"
    SUFFIX = "suffix"


@dataclass(frozen=True, slots=True)
class Condition:
    """A path at one end of a namespace; a label ``*`` of it stands for any one label."""

    end: End
    path: tuple[str, ...]


def check(namespace: object) -> tuple[str, ...]:
    """Return a namespace that an item can be in. Raises InvalidNamespaceError."""
    labels = check_path(namespace, "namespace")
    if not labels:
        raise errors.InvalidNamespaceError("the namespace is empty; give it at least one label: ('memories', user_id)")
    return labels


def check_path(path: object, what: str) -> tuple[str, ...]:
    """Return a part of a namespace, which may be empty. Raises InvalidNamespaceError that names `what` it is."""
    if type(path) is tuple and len(path) <= DEEPEST and ids.are_plain(path):
        return path
    if not isinstance(path, tuple | list):
        raise errors.InvalidNamespaceError(
            f"the {what} must be a tuple of labels, such as ('memories', user_id), not {type(path).__name__}"
        )
    if len(path) > DEEPEST:
        raise errors.InvalidNamespaceError(f"the {what} has {len(path)} labels; {DEEPEST} is the limit")
    return tuple(_label(label, f"label {at} of the {what}") for at, label in enumerate(path, 1))


def _label(label: object, what: str) -> str:
    try:
        return str.__str__(ids.check(label, what))
    except errors.InvalidIdError as error:
        raise errors.InvalidNamespaceError(str(error)) from None


def refuse_reserved(labels: tuple[str, ...]) -> None:
    """Raise InvalidNamespaceError for a namespace that is LangGraph's own."""
    if labels[0] == RESERVED:
        raise errors.InvalidNamespaceError(
            f"a namespace whose first label is {RESERVED!r} is LangGraph's own; begin it with another label"
        )


def pack(labels: Sequence[str]) -> str:
    """Return the key form: a prefix of it is the key form of a prefix, and their order is that of the tuples."""
    return _SEPARATOR + "".join([label + _SEPARATOR for label in labels])


def unpack(packed: str) -> tuple[str, ...]:
    """Undo `pack`."""
    return tuple(packed[1:-1].split(_SEPARATOR)) if len(packed) > 1 else ()


def span(prefix: Sequence[str]) -> tuple[str, str]:
    """Return (low, high): the key forms of namespaces with this prefix are those from low, before high."""
    low = pack(prefix)
    return low, low[:-1] + _AFTER


def matches(labels: tuple[str, ...], conditions: Iterable[Condition]) -> bool:
    """Tell whether a namespace meets all conditions."""
    return all(_meets(labels, condition) for condition in conditions)


def _meets(labels: tuple[str, ...], condition: Condition) -> bool:
    path = condition.path
    if len(labels) < len(path):
        return False
    match condition.end:
        case End.PREFIX:
            part = labels[: len(path)]
        case End.SUFFIX:
            part = labels[len(labels) - len(path) :]
        case _:
            assert_never(condition.end)
    return all(wanted in {WILDCARD, label} for wanted, label in zip(path, part, strict=True))


async def page(
    unit: Unit, conditions: Sequence[Condition], *, max_depth: int | None, limit: int, offset: int
) -> list[tuple[str, ...]]:
    """Return the namespaces that hold an item and meet all conditions, cut to `max_depth`, each once, in order."""
    found: list[tuple[str, ...]] = []
    last: tuple[str, ...] | None = None
    low, high = span(_lead(conditions))
    while len(found) < offset + limit:
        rows = await unit.all("namespaces_page", low=low, high=high, now=unit.now, limit=_PAGE)
        for labels in (unpack(packed) for (packed,) in rows):
            cut = labels[:max_depth]
            if cut != last and matches(labels, conditions):
                found.append(last := cut)
        if len(rows) < _PAGE:
            break
        low = rows[-1][0] + _BEFORE
    return found[offset : offset + limit]


def _lead(conditions: Iterable[Condition]) -> tuple[str, ...]:
    """Return the longest path without a wildcard that every namespace asked for begins with."""
    longest: tuple[str, ...] = ()
    for condition in conditions:
        if condition.end is End.PREFIX:
            path = condition.path
            lead = path[: path.index(WILDCARD)] if WILDCARD in path else path
            longest = max(longest, lead, key=len)
    return longest


async def counts(unit: Unit, prefix: Sequence[str], *, max_depth: int | None) -> dict[tuple[str, ...], int]:
    """Return how many items are in each namespace with a prefix, in order; cut to `max_depth`, those below together."""
    low, high = span(prefix)
    found: dict[tuple[str, ...], int] = {}
    for packed, number in await unit.all("namespace_counts", low=low, high=high, now=unit.now):
        cut = unpack(packed)[:max_depth]
        found[cut] = found.get(cut, 0) + number
    return found


async def move(unit: Unit, source: tuple[str, ...], target: tuple[str, ...]) -> int:
    """Give the items of a namespace, and of those below it, another beginning; return how many.

    Raises InvalidNamespaceError, or ConflictError if an item is in the way: then nothing is moved.
    """
    places = await _prepared(unit, source, target)
    moved = await unit.run("namespace_move", **places)
    await unit.post("namespace_move_versions", **places)
    return moved


async def copy(unit: Unit, source: tuple[str, ...], target: tuple[str, ...]) -> int:
    """Store the items of a namespace, and of those below it, a second time, with their vectors; return how many.

    The copies begin at version 1. Raises what `move` raises.
    """
    places = await _prepared(unit, source, target)
    copied = await unit.run("namespace_copy", **places, now=unit.now)
    await unit.post("namespace_copy_vectors", **places)
    return copied


async def _prepared(unit: Unit, source: tuple[str, ...], target: tuple[str, ...]) -> dict[str, object]:
    shorter = min(len(source), len(target))
    if source[:shorter] == target[:shorter]:
        raise errors.InvalidNamespaceError(
            f"{source!r} and {target!r} are one within the other; go by way of a third namespace"
        )
    low, high = span(source)
    await unit.all("namespace_hold", low=low, high=high)
    deepest = max((len(labels) for labels in await counts(unit, source, max_depth=None)), default=0)
    if deepest - len(source) + len(target) > DEEPEST:
        raise errors.InvalidNamespaceError(f"namespaces would have more than {DEEPEST} labels below {target!r}")
    for bounds in ((low, high), span(target)):
        await unit.post("namespace_clear", low=bounds[0], high=bounds[1], now=unit.now)
    places: dict[str, object] = {"source": low, "target": pack(target), "low": low, "high": high}
    if clash := await unit.one("namespace_clashes", **places):
        raise errors.ConflictError(
            f"the item {clash[1]!r} is in {unpack(clash[0])!r} already; remove it or take another target. "
            "Nothing was changed."
        )
    return places
