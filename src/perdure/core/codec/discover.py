"""Finds the classes that a graph's state, or a class's fields, may hold."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Iterable, Iterator
from typing import Any

import pydantic
from typing_extensions import is_typeddict

_SCHEMAS = ("state_schema", "input_schema", "output_schema", "context_schema")
_OURS = ("langchain_core.", "langgraph.")


def types_of(obj: object) -> set[type]:
    """Return the classes of users that a graph, a builder, a type, or any number of them, can lead to.

    A graph is walked by its schemas, channels, nodes' inputs and subgraphs; a type by its fields' annotations.
    """
    found: set[type] = set()
    seen: list[object] = []
    pending: list[object] = [obj]
    while pending:
        part = pending.pop()
        if any(part is known for known in seen):
            continue
        seen.append(part)
        if isinstance(part, type) and _is_user_type(part):
            found.add(part)
        pending += _leads_to(part)
    return found


def _is_user_type(cls: type) -> bool:
    kept = (
        issubclass(cls, enum.Enum | pydantic.BaseModel)
        or dataclasses.is_dataclass(cls)
        or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
    )
    return kept and not f"{cls.__module__}.".startswith(_OURS)


def _leads_to(part: Any) -> Iterator[object]:
    arguments = typing.get_args(part)
    if arguments:
        yield typing.get_origin(part)
        yield from (argument for argument in arguments if not isinstance(argument, str))
        return
    if isinstance(part, type):
        yield from _annotations(part)
    elif isinstance(part, list | tuple | set | frozenset):
        yield from part
    elif hasattr(part, "channels") and hasattr(part, "nodes"):
        yield from _graph(part)
    elif isinstance(part, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        yield part.__value__
    elif isinstance(part, typing.NewType):
        yield part.__supertype__
    elif isinstance(part, typing.TypeVar):
        yield from (part.__bound__, *part.__constraints__)


def _annotations(cls: type) -> Iterable[object]:
    if not (_is_user_type(cls) or is_typeddict(cls)) or issubclass(cls, enum.Enum):
        return ()
    if issubclass(cls, pydantic.BaseModel):
        return [field.annotation for field in cls.model_fields.values()]
    try:
        return typing.get_type_hints(cls, include_extras=True).values()
    except (NameError, TypeError, AttributeError):
        return [hint for hint in getattr(cls, "__annotations__", {}).values() if not isinstance(hint, str)]


def _graph(graph: Any) -> Iterator[object]:
    builder = getattr(graph, "builder", graph)
    for name in _SCHEMAS:
        yield getattr(builder, name, None)
    yield from getattr(builder, "schemas", {})
    for channel in graph.channels.values():
        yield getattr(channel, "ValueType", None)
        yield getattr(channel, "UpdateType", None)
    for node in graph.nodes.values():
        yield getattr(node, "input_schema", None)
        yield from getattr(node, "subgraphs", None) or ()
        yield getattr(node, "bound", None)
        yield getattr(node, "runnable", None)
