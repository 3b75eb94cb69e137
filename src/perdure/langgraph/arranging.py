"""Arranging: namespaces as a whole, counted, moved and copied."""

from __future__ import annotations

import functools

from perdure import errors
from perdure.core import namespaces
from perdure.engine import drive
from perdure.langgraph.calls import Calls
from perdure.langgraph.configs import ambient
from perdure.langgraph.styles import Awaiting, Blocking, Style

__all__ = ["Arranging"]

Labels = tuple[str, ...]


class Arranging:
    """The part of the store that is about namespaces rather than items."""

    _calls: Calls

    def namespace_counts(self, prefix: Labels = (), *, max_depth: int | None = None) -> dict[Labels, int]:
        """Return how many items each namespace with a prefix has, in the order of their labels.

        Cut to `max_depth` labels, a namespace counts what is below it.
        """
        return drive(self._counted(Blocking(self._calls), prefix, max_depth))

    async def anamespace_counts(self, prefix: Labels = (), *, max_depth: int | None = None) -> dict[Labels, int]:
        """Do what `namespace_counts` does."""
        return await self._counted(Awaiting(self._calls), prefix, max_depth)

    def move(self, source: Labels, target: Labels) -> int:
        """Give the items of a namespace, and of those below it, another beginning; return how many.

        They keep their versions, times, vectors and history. All or none: ConflictError if a key is taken.
        """
        return drive(self._moved(Blocking(self._calls), source, target))

    async def amove(self, source: Labels, target: Labels) -> int:
        """Do what `move` does."""
        return await self._moved(Awaiting(self._calls), source, target)

    def copy(self, source: Labels, target: Labels) -> int:
        """Store the items of a namespace, and of those below it, a second time; return how many.

        The copies have their vectors and begin at version 1. All or none: ConflictError if a key is taken.
        """
        return drive(self._copied(Blocking(self._calls), source, target))

    async def acopy(self, source: Labels, target: Labels) -> int:
        """Do what `copy` does."""
        return await self._copied(Awaiting(self._calls), source, target)

    async def _counted(self, style: Style, prefix: Labels, max_depth: int | None) -> dict[Labels, int]:
        labels, depth = namespaces.check_path(prefix, "namespace prefix"), check_depth(max_depth)
        return await style.read(self._tenant(), functools.partial(namespaces.counts, prefix=labels, max_depth=depth))

    async def _moved(self, style: Style, source: Labels, target: Labels) -> int:
        old, new = _ends(source, target)
        return await style.write(self._tenant(), functools.partial(namespaces.move, source=old, target=new))

    async def _copied(self, style: Style, source: Labels, target: Labels) -> int:
        old, new = _ends(source, target)
        return await style.write(self._tenant(), functools.partial(namespaces.copy, source=old, target=new))

    def _tenant(self) -> str:
        return self._calls.scope.tenant_for(ambient())


def _ends(source: object, target: object) -> tuple[Labels, Labels]:
    old, new = namespaces.check(source), namespaces.check(target)
    namespaces.refuse_reserved(old)
    namespaces.refuse_reserved(new)
    return old, new


def check_depth(depth: object) -> int | None:
    """Return a depth of namespaces. Raises InvalidLimitError."""
    if depth is None or (type(depth) is int and depth > 0):
        return depth
    raise errors.InvalidLimitError(f"max_depth must be a whole number from 1, or None, not {depth!r}")
