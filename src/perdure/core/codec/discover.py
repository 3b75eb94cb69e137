"""Finds the classes that a graph's state, or a class's fields, may hold."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, Final

import pydantic
from typing_extensions import is_typeddict

_SCHEMAS: Final = ("state_schema", "input_schema", "output_schema", "context_schema")
_NOT_USERS: Final = ("langchain_core.", "langgraph.", "pydantic.", "enum.", "typing.")
_STRATEGIES: Final = "langchain.agents.structured_output"


def types_of(obj: object) -> set[type]:
    """Return the classes of users that a graph, a builder, a type, or any number of them, can lead to.

    A graph is walked by its schemas, channels, nodes' inputs and subgraphs; a type by its fields' annotations.
    """
    found: set[type] = set()
    seen: dict[int, object] = {}
    pending: list[object] = [obj]
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
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
    return kept and not f"{cls.__module__}.".startswith(_NOT_USERS)


def _leads_to(part: Any) -> Iterable[object]:
    arguments = typing.get_args(part)
    if arguments:
        return (typing.get_origin(part), *(argument for argument in arguments if not isinstance(argument, str)))
    if isinstance(part, type):
        return _annotations(part)
    if isinstance(part, list | tuple | set | frozenset):
        return part
    if hasattr(part, "channels") and hasattr(part, "nodes"):
        return _graph(part)
    if isinstance(part, FunctionType):
        return _closure(part)
    return _aliased(part)


def _aliased(part: Any) -> Iterator[object]:
    for name in ("__value__", "__supertype__", "__bound__"):
        yield getattr(part, name, None)
    if type(part).__module__ == _STRATEGIES:
        yield from (getattr(part, "schema", None), getattr(part, "schema_spec", None))
        yield from getattr(part, "schema_specs", ())


def _closure(function: FunctionType) -> Iterator[object]:
    """Yield what `create_agent` gives its model node: there, and nowhere else, is its `response_format`."""
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        if type(content).__module__ == _STRATEGIES:
            yield content


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
    for node in (*graph.nodes.values(), *getattr(builder, "nodes", {}).values()):
        yield getattr(node, "input_schema", None)
        yield from getattr(node, "subgraphs", None) or ()
        yield from _callables(getattr(node, "runnable", None) or getattr(node, "bound", None))


def _callables(runnable: Any) -> Iterator[object]:
    yield runnable
    for step in (runnable, *getattr(runnable, "steps", ())):
        yield from (getattr(step, "func", None), getattr(step, "afunc", None))
