"""Texts: what of an item's value is searched, read from its projection by the paths of the index.

Paths are LangGraph's: ``$`` the whole value, ``a.b``, ``a[0]``, ``a[*].b``, ``*``, ``{a,b}``. Each gives no, one or
several texts, and each text one vector. An object is its leaves, a line for each, with their names before them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from langgraph.store.base import tokenize_path

from perdure import errors
from perdure.core import filters

__all__ = ["WHOLE", "check_path", "of", "read"]

Json = Any
WHOLE: Final = ("$",)
_READABLE: Final = ("$date", "$time", "$datetime", "$moment")
_KEY: Final = "$key:"


def check_path(path: str) -> str:
    """Return a path that can be stored. Raises InvalidInputError."""
    if not path.isascii() and path != path.encode("utf-8", "replace").decode():
        raise errors.InvalidInputError(f"the field path {path!r} holds half of a character; leave it out")
    return path


def of(projection: str, fields: str | None, default: Sequence[str]) -> list[str]:
    """Return the texts of an item: `fields` are its own paths, JSON; None: the default ones."""
    paths = default if fields is None else json.loads(fields)
    if not paths:
        return []
    value = filters.read(projection)
    value.pop(filters.ABOUT, None)
    return read(value, paths)


def read(value: Json, paths: Sequence[str]) -> list[str]:
    """Return the texts at paths of a projected value, without those that are empty, each once."""
    found = [text for path in paths for text in _at(value, _labels(path))]
    return list(dict.fromkeys(text for text in found if text.strip()))


@lru_cache(maxsize=1024)
def _labels(path: str) -> tuple[str, ...]:
    return () if path in {"", "$"} else tuple(tokenize_path(path.removeprefix("$.")))


def _at(value: Json, labels: Sequence[str]) -> Iterator[str]:
    if not labels:
        yield "\n".join(_lines(value))
        return
    for part in _step(value, labels[0]):
        yield from _at(part, labels[1:])


def _step(value: Json, label: str) -> list[Json]:
    """Return what one part of a path leads to."""
    if label.startswith("[") and isinstance(value, list):
        return value if label == "[*]" else _place(value, label[1:-1])
    if label == "*":
        return value if isinstance(value, list) else list(value.values()) if _is_object(value) else []
    if not _is_object(value):
        return []
    if label.startswith("{"):
        return [part for name in label[1:-1].split(",") for part in _walk(value, tokenize_path(name.strip()))]
    return [value[label]] if label in value else []


def _walk(value: Json, labels: Sequence[str]) -> list[Json]:
    found = [value]
    for label in labels:
        found = [part for one in found for part in _step(one, label)]
    return found


def _place(value: list[Json], given: str) -> list[Json]:
    try:
        return [value[int(given)]]
    except (ValueError, IndexError):
        return []


def _is_object(value: Json) -> bool:
    """Tell an object from a tagged leaf, which is an object with one field that begins with ``$``."""
    return isinstance(value, dict) and not (len(value) == 1 and next(iter(value)).startswith("$") and _tag(value))


def _tag(value: dict[str, Json]) -> bool:
    return not next(iter(value)).startswith(_KEY)


def _lines(value: Json) -> Iterator[str]:
    """Return a line for each leaf; where there are several, with its name before it."""
    leaves = list(_leaves("", value))
    named = len(leaves) > 1
    for name, text in leaves:
        yield f"{name}: {text}" if named and name else text


def _leaves(name: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for part in value:
            yield from _leaves(name, part)
    elif _is_object(value):
        for key, part in value.items():
            yield from _leaves(_clear(key), part)
    elif (text := _leaf(value)) is not None:
        yield name, text


def _leaf(value: Json) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return None if value is None else str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    ((tag, body),) = value.items()
    if tag == "$text":
        return bytes.fromhex(body).decode("utf-8", "replace").replace("\0", " ")
    return str(body) if tag in _READABLE else None


def _clear(key: str) -> str:
    return bytes.fromhex(key.removeprefix(_KEY)).decode("utf-8", "replace") if key.startswith(_KEY) else key
