"""Finds the place inside a value that a refusal, or an unknown type, is about."""

from __future__ import annotations

import collections
import enum
import sys
from collections.abc import Callable, Container, Iterator
from typing import Any

from perdure import errors
from perdure.core.codec import user
from perdure.core.codec.kinds import Opaque
from perdure.core.codec.packer import MAX_DEPTH

Attempt = Callable[[object, int], errors.UnsupportedValueError | None]


def refused(value: object, path: str, attempt: Attempt, known: Container[type]) -> errors.UnsupportedValueError:
    """Return the error for the innermost part of `value` that `attempt` refuses, with its path.

    Only what is of a `known` type is looked into.
    """
    error, seen, depth = attempt(value, 0), {id(value)}, 0
    while depth <= MAX_DEPTH and (type(value) is list or type(value) in known):
        found = _failing(value, attempt, depth + 1)
        if found is None:
            break
        label, value, error = found
        path, depth = path + label, depth + 1
        if id(value) in seen:
            return errors.UnsupportedValueError(f"{path}: the value contains itself. Break the cycle.", path=path)
        seen.add(id(value))
    return errors.UnsupportedValueError(f"{path}: {error}", path=path)


def _failing(value: object, attempt: Attempt, depth: int) -> tuple[str, object, errors.UnsupportedValueError] | None:
    for label, child in children(value):
        error = attempt(child, depth)
        if error is not None:
            return label, child, error
    return None


def opaque(value: object, tag: str, path: str) -> str:
    """Return the path of the first `Opaque` with this tag; `path` itself if there is none."""
    pending = [(path, value)]
    while pending:
        at, part = pending.pop()
        if isinstance(part, Opaque) and part.tag == tag:
            return at
        pending += [(at + label, child) for label, child in reversed([*children(part)])]
    return path


def children(value: object) -> Iterator[tuple[str, object]]:
    """Yield what a value holds, each with its step of the path."""
    if isinstance(value, dict):
        yield from _entries(value)
    elif isinstance(value, list | tuple | collections.deque | set | frozenset):
        names = getattr(value, "_fields", None)
        for at, part in enumerate(value):
            yield (f".{names[at]}" if names else f"[{at}]"), part
    elif isinstance(value, Opaque):
        yield from children(value.value)
    elif not isinstance(value, enum.Enum | type):
        yield from _attributes(value)


def _entries(value: dict[Any, Any]) -> Iterator[tuple[str, object]]:
    for key, part in value.items():
        if isinstance(key, str) and key.isidentifier():
            yield f".{key}", part
            continue
        label = f"[{key!r}]"
        yield f".keys(){label}", key
        yield label, part


def _attributes(value: Any) -> Iterator[tuple[str, object]]:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        yield from ((f".flat[{at}]", part) for at, part in enumerate(value.flat if value.dtype.hasobject else ()))
        return
    own = dict(getattr(value, "__dict__", None) or {})
    own |= getattr(value, "__pydantic_extra__", None) or {}
    own |= getattr(value, "__pydantic_private__", None) or {}
    for name in user.slots(type(value)):
        if not name.startswith("__") and hasattr(value, name):
            own[name] = getattr(value, name)
    yield from ((f".{name}", part) for name, part in own.items())
