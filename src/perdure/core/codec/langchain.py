"""LangChain's messages and documents: compact, and made again without validation.

A payload is ``[head, value, value, …]``. The low 16 bits of `head` say which fields follow, in bit order; those left
out have their default. The high bits say which fields differ in being *set* (pydantic's `model_fields_set`) from
being present. Bit 15 announces a last element for what the table doesn't know: ``[fields, extra, set names,
private]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import pydantic
from langchain_core import documents, messages
from langchain_core.messages.base import TextAccessor
from langchain_core.runnables.utils import AddableDict
from pydantic.fields import FieldInfo

from perdure.core.codec import tags
from perdure.core.codec.kinds import Kind
from perdure.core.codec.standard import flatten, pair

# A field's place in its tuple is its bit: append only, never reorder.
_BASE: Final = ("content", "id", "name", "response_metadata", "additional_kwargs", "type")
_TOOL: Final = (
    "content",
    "id",
    "tool_call_id",
    "name",
    "artifact",
    "status",
    "additional_kwargs",
    "response_metadata",
    "type",
)
_CHAT: Final = (*_BASE, "role")
_AI: Final = (
    "content",
    "id",
    "response_metadata",
    "usage_metadata",
    "tool_calls",
    "name",
    "additional_kwargs",
    "invalid_tool_calls",
    "type",
)
_AI_CHUNK: Final = (*_AI, "tool_call_chunks", "chunk_position")
_DOCUMENT: Final = ("page_content", "metadata", "id", "type")

_REST: Final = 1 << 15
_SHIFT: Final = 16
_LOW: Final = (1 << _SHIFT) - 1
_NO_DEFAULT: Final = object()
_set = object.__setattr__


class _Layout:
    """The bits of one class, and how to take an instance apart and make it again."""

    def __init__(self, cls: type[pydantic.BaseModel], names: tuple[str, ...]) -> None:
        self.cls = cls
        self.bits = {name: 1 << at for at, name in enumerate(names)}
        self.template = {name: _default(field) for name, field in cls.model_fields.items()}
        self.required = sum(bit for name, bit in self.bits.items() if self.template.get(name) is _NO_DEFAULT)
        self.factories = {n: _factory(f) for n, f in cls.model_fields.items() if f.default_factory is not None}
        self.extra = cls.model_config.get("extra") == "allow"
        defaults = ((name, bit, self.template.get(name, _NO_DEFAULT)) for name, bit in self.bits.items())
        self.table = tuple((name, bit, type(default), default) for name, bit, default in defaults)
        self.masks: dict[int, tuple[str, ...]] = {}

    def take(self, value: Any) -> list[object]:
        fields = value.__dict__
        present = given = 0
        payload: list[object] = [0]
        try:
            for name, bit, kind, default in self.table:
                part = fields[name]
                if type(part) is not kind or part != default:
                    present |= bit
                    payload.append(part)
            for name in value.__pydantic_fields_set__:
                given |= self.bits[name]
        except KeyError:
            return self.take_odd(value)
        if len(fields) != len(self.table) or value.__pydantic_extra__ or value.__pydantic_private__:
            return self.take_odd(value)
        payload[0] = present | (present ^ given) << _SHIFT
        return payload

    def take_odd(self, value: Any) -> list[object]:
        """Take a message with fields, extras or gaps that the table doesn't foresee."""
        fields, given = value.__dict__, value.__pydantic_fields_set__
        known = [name for name in self.bits if name in fields]
        present = sum(self.bits[name] for name in known)
        set_bits = sum(self.bits[name] for name in given if name in self.bits)
        rest = {name: part for name, part in fields.items() if name not in self.bits}
        unset = sorted(name for name in given if name not in self.bits)
        head = present | _REST | (present ^ set_bits) << _SHIFT
        return [
            head,
            *(fields[name] for name in known),
            [rest, value.__pydantic_extra__, unset, value.__pydantic_private__],
        ]

    def make(self, payload: list[Any]) -> object:
        head = payload[0]
        present = head & _LOW
        given = (head >> _SHIFT) ^ (present & ~_REST)
        fields = self.template.copy()
        for name, factory in self.factories.items():
            fields[name] = factory()
        extra: dict[str, object] | None = {} if self.extra else None
        names, set_names, private = self.names(present & ~_REST), set(self.names(given)), None
        if present & _REST:
            rest, extra, unknown, private = payload.pop()
            fields = {n: p for n, p in fields.items() if n not in self.bits or n in names}
            extra = self.merge(fields, rest, extra)
            set_names.update(unknown)
        elif self.required & ~present:
            raise ValueError(head)
        fields.update(zip(names, payload[1:], strict=True))
        return _build(self.cls, fields, set_names, extra, private)

    def merge(
        self, fields: dict[str, object], rest: dict[str, object], extra: dict[str, object] | None
    ) -> dict[str, object] | None:
        """Put unknown fields back where this version of the class keeps them."""
        strange = {name: part for name, part in rest.items() if name not in self.cls.model_fields}
        fields.update((name, part) for name, part in rest.items() if name not in strange)
        if extra is None:
            fields.update(strange)
            return None
        return {**strange, **extra}

    def names(self, mask: int) -> tuple[str, ...]:
        """Return the names of a mask's bits; refuse bits that no field has."""
        known = self.masks.get(mask)
        if known is None:
            known = tuple(name for name, bit in self.bits.items() if mask & bit)
            if mask.bit_count() != len(known):
                raise ValueError(mask)
            self.masks[mask] = known
        return known


def _default(field: FieldInfo) -> object:
    if field.is_required():
        return _NO_DEFAULT
    return field.get_default(call_default_factory=True)


def _factory(field: FieldInfo) -> Callable[[], object]:
    return cast("Callable[[], object]", field.default_factory)


def _build(
    cls: type[pydantic.BaseModel],
    fields: dict[str, object],
    set_names: set[str],
    extra: dict[str, object] | None,
    private: dict[str, object] | None,
) -> object:
    value = cls.__new__(cls)
    _set(value, "__dict__", fields)
    _set(value, "__pydantic_fields_set__", set_names)
    _set(value, "__pydantic_extra__", extra)
    _set(value, "__pydantic_private__", private)
    return value


def _kind(code: int, cls: type[pydantic.BaseModel], names: tuple[str, ...]) -> Kind:
    layout = _Layout(cls, names)
    return Kind(code, cls, layout.take, layout.make, leaf=True)


MESSAGES: Final = (
    _kind(tags.HUMAN_MESSAGE, messages.HumanMessage, _BASE),
    _kind(tags.AI_MESSAGE, messages.AIMessage, _AI),
    _kind(tags.SYSTEM_MESSAGE, messages.SystemMessage, _BASE),
    _kind(tags.TOOL_MESSAGE, messages.ToolMessage, _TOOL),
    _kind(tags.CHAT_MESSAGE, messages.ChatMessage, _CHAT),
    _kind(tags.FUNCTION_MESSAGE, messages.FunctionMessage, _BASE),
    _kind(tags.REMOVE_MESSAGE, messages.RemoveMessage, _BASE),
    _kind(tags.HUMAN_MESSAGE_CHUNK, messages.HumanMessageChunk, _BASE),
    _kind(tags.AI_MESSAGE_CHUNK, messages.AIMessageChunk, _AI_CHUNK),
    _kind(tags.SYSTEM_MESSAGE_CHUNK, messages.SystemMessageChunk, _BASE),
    _kind(tags.TOOL_MESSAGE_CHUNK, messages.ToolMessageChunk, _TOOL),
    _kind(tags.CHAT_MESSAGE_CHUNK, messages.ChatMessageChunk, _CHAT),
    _kind(tags.FUNCTION_MESSAGE_CHUNK, messages.FunctionMessageChunk, _BASE),
    _kind(tags.BASE_MESSAGE, messages.BaseMessage, _BASE),
    _kind(tags.BASE_MESSAGE_CHUNK, messages.BaseMessageChunk, _BASE),
    _kind(tags.DOCUMENT, documents.Document, _DOCUMENT),
)
KINDS: Final = (
    *MESSAGES,
    Kind(tags.TEXT_ACCESSOR, TextAccessor, str, TextAccessor, leaf=True),  # what `message.text` is
    Kind(tags.ADDABLE_DICT, AddableDict, flatten, lambda flat: AddableDict(pair(flat))),
)
