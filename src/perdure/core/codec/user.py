"""Users' own classes: pydantic models, dataclasses, enums and named tuples.

A payload is ``[tag, fields, …]`` for a class of fields and ``[tag, member]`` for an enum. The tag, ``module:qualname``,
is a key into the classes this process has registered; nothing is ever imported by it. ``[tag, body, how]``, with a
number at the end, is a value that came from another serializer's database before its class was known here.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import pydantic
from pydantic_core import PydanticUndefined

from perdure import errors
from perdure.core.codec import tags
from perdure.core.codec.kinds import Kind, refuse

_HEAP_TYPE: Final = 1 << 9
_ABSENT: Final = object()
_set = object.__setattr__


def tag_of(cls: type) -> str:
    """Return the text that stands for a class in stored bytes."""
    return f"{cls.__module__}:{cls.__qualname__}"


def kind_of(cls: type) -> Kind | None:
    """Return how a class of the user's is kept, or None if it is none of the four sorts."""
    if issubclass(cls, enum.Enum):
        return _enum(cls)
    if issubclass(cls, pydantic.BaseModel):
        return _model(cls)
    if dataclasses.is_dataclass(cls):
        return _dataclass(cls)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _named_tuple(cls)
    return None


def _user(
    cls: type, take: Callable[[Any], list[object]], make: Callable[[list[Any]], object], *, leaf: bool = False
) -> Kind:
    tag = tag_of(cls)
    return Kind(tags.USER, cls, lambda value: [tag, *take(value)], make, leaf=leaf)


def _changed(cls: type, why: object) -> errors.StoredValueError:
    return errors.StoredValueError(
        f"A stored {tag_of(cls)} doesn't fit the class as it is now: {why}. "
        "Give new fields a default, or migrate the state."
    )


def revive(kind: Kind, body: Any) -> object:
    """Make a value that another serializer took apart: an enum's value, a model's dump, or fields by name."""
    cls: Any = kind.cls
    if issubclass(cls, enum.Enum):
        try:
            return cls(body)
        except ValueError:
            raise _changed(cls, f"it has no value {body!r}") from None
    if issubclass(cls, pydantic.BaseModel):
        return _validated(cls, body)
    return kind.make([body])


def _enum(cls: type[enum.Enum]) -> Kind:
    def take(value: enum.Enum) -> list[object]:
        name = value._name_
        if cls.__members__.get(name or "") is value:
            return [name]
        return [value.value]

    def make(payload: list[Any]) -> object:
        (member,) = payload
        if isinstance(member, str) and member in cls.__members__:
            return cls.__members__[member]
        if issubclass(cls, enum.Flag) and isinstance(member, int):
            return cls(member)
        raise _changed(cls, f"it has no member {member!r}")

    return _user(cls, take, make, leaf=True)


def _named_tuple(cls: Any) -> Kind:
    _check_layout(cls, allowed=tuple)

    def take(value: Any) -> list[object]:
        if getattr(value, "__dict__", None):
            raise refuse(f"A {tag_of(cls)} with attributes beside its fields", "Make them fields.")
        return [dict(zip(cls._fields, value, strict=True))]

    def make(payload: list[Any]) -> object:
        (fields,) = payload
        values = {**cls._field_defaults, **fields}
        if values.keys() != set(cls._fields):
            raise _changed(cls, _difference(values.keys(), set(cls._fields)))
        return tuple.__new__(cls, [values[name] for name in cls._fields])

    return _user(cls, take, make)


def _difference(stored: Any, current: Any) -> str:
    return f"missing {sorted(current - stored)}, unknown {sorted(stored - current)}"


def _check_layout(cls: type, allowed: type = object) -> None:
    for base in cls.__mro__:
        if not base.__flags__ & _HEAP_TYPE and base not in (object, allowed):
            raise refuse(
                f"A {tag_of(cls)}, being a {base.__name__} too,", f"Keep the {base.__name__} in a field instead."
            )


def slots(cls: type) -> Iterator[str]:
    """Yield the names of a class's slots, as its instances know them."""
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else slots
        for name in names:
            if name not in ("__dict__", "__weakref__"):
                yield _mangled(base, name)


def _mangled(base: type, name: str) -> str:
    return f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name


def _cached(cls: type) -> frozenset[str]:
    caches = {
        n for base in cls.__mro__ for n, part in vars(base).items() if isinstance(part, functools.cached_property)
    }
    return frozenset(caches | {"__orig_class__"})


def _dataclass(cls: Any) -> Kind:
    _check_layout(cls)
    names = tuple(dict.fromkeys([*(field.name for field in dataclasses.fields(cls)), *slots(cls)]))
    skipped = _cached(cls)

    def take(value: Any) -> list[object]:
        given = ((name, getattr(value, name, _ABSENT)) for name in names)
        fields = {name: part for name, part in given if part is not _ABSENT}
        beside = getattr(value, "__dict__", {})
        fields.update((name, part) for name, part in beside.items() if name not in fields and name not in skipped)
        return [fields]

    def make(payload: list[Any]) -> object:
        (fields,) = payload
        value = object.__new__(cls)
        for name, part in _filled(cls, fields).items():
            try:
                _set(value, name, part)
            except AttributeError:
                raise _changed(cls, f"it has no field {name!r}") from None
        return value

    return _user(cls, take, make)


def _filled(cls: Any, stored: dict[str, object]) -> dict[str, object]:
    missing = [field for field in dataclasses.fields(cls) if field.name not in stored]
    if not missing:
        return stored
    fields = dict(stored)
    for field in missing:
        if field.default is not dataclasses.MISSING:
            fields[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            fields[field.name] = field.default_factory()
        elif field.init:
            raise _changed(cls, f"missing [{field.name!r}]")
    return fields


class _Model(NamedTuple):
    """A pydantic model taken apart; most have nothing but fields."""

    fields: dict[str, Any]
    unset: list[str] | None = None  # fields and extras that are not in `model_fields_set`
    extra: dict[str, Any] | None = None
    private: dict[str, Any] | None = None
    beside: dict[str, Any] | None = None  # what the instance's __dict__ holds besides
    missing: list[str] | None = None  # fields that the instance lacks
    strange: list[str] | None = None  # names in `model_fields_set` that are neither field nor extra


def _model(cls: type[pydantic.BaseModel]) -> Kind:
    _check_layout(cls)
    skipped = _cached(cls)

    def take(value: Any) -> list[object]:
        own, extra, given, known = (
            value.__dict__,
            value.__pydantic_extra__,
            value.__pydantic_fields_set__,
            cls.model_fields,
        )
        fields = {name: part for name, part in own.items() if name in known}
        names = {**fields, **(extra or {})}
        model = _Model(
            fields,
            unset=[name for name in names if name not in given],
            extra=extra,
            private=value.__pydantic_private__,
            beside={name: part for name, part in own.items() if name not in known and name not in skipped},
            missing=[name for name in known if name not in fields],
            strange=sorted(given - names.keys()),
        )
        return _trimmed(fields, model[1:])

    return _user(cls, take, lambda payload: _make_model(cls, _Model(*payload)))


def _trimmed(fields: object, rest: Iterable[object]) -> list[object]:
    payload = [fields, *(part or None for part in rest)]
    while payload[-1] is None:
        payload.pop()
    return payload


def _make_model(cls: type[pydantic.BaseModel], model: _Model) -> object:
    extra, given = model.extra or {}, {*model.fields, *(model.extra or ()), *(model.strange or ())}
    if model.fields.keys() | set(model.missing or ()) == cls.model_fields.keys():
        value = cls.__new__(cls)
        _set(value, "__dict__", {**model.fields, **(model.beside or {})})
        kept: dict[str, Any] | None = extra if extra or cls.model_config.get("extra") == "allow" else None
    else:
        value = _validated(cls, {**extra, **model.fields})
        kept = value.__pydantic_extra__
        given &= {*value.__dict__, *(kept or ())}
    _set(value, "__pydantic_fields_set__", given.difference(model.unset or ()))
    if not cls.__pydantic_root_model__:
        _set(value, "__pydantic_extra__", kept)
        _set(value, "__pydantic_private__", _private(cls, model.private or {}))
    return value


def _private(cls: type[pydantic.BaseModel], stored: dict[str, Any]) -> dict[str, Any] | None:
    if not cls.__private_attributes__:
        return stored or None
    defaults = {n: a.get_default() for n, a in cls.__private_attributes__.items() if n not in stored}
    return {**{n: part for n, part in defaults.items() if part is not PydanticUndefined}, **stored}


def _validated(cls: type[pydantic.BaseModel], fields: Any) -> pydantic.BaseModel:
    try:
        return cls.model_validate(fields, by_name=True)
    except pydantic.ValidationError as error:
        raise _changed(cls, error) from error
