"""The closed set of types a codec knows: ours from the start, users' as they are registered."""

from __future__ import annotations

import contextlib
import functools
import io
import types
from collections.abc import Awaitable, Iterable, Iterator
from typing import Any, Final

from perdure import errors
from perdure.core.codec import arrays, discover, langchain, langgraph, standard, tags, user
from perdure.core.codec.kinds import Kind, refuse, table

BUILT_IN: Final = table((*standard.KINDS, *langchain.KINDS, *langgraph.KINDS))
MAKERS: Final = {kind.code: kind.make for kind in BUILT_IN.values()} | {
    tags.NUMPY_ARRAY: arrays.make_array,
    tags.NUMPY_SCALAR: arrays.make_scalar,
}
MESSAGES: Final = frozenset(kind.cls for kind in langchain.MESSAGES)

# What people try to keep, and what to do instead; the first match counts.
_ADVICE: Final[tuple[tuple[tuple[type, ...], str], ...]] = (
    (
        (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial, types.ModuleType),
        "Keep a name and look it up, or pass it in the run's context.",
    ),
    ((io.IOBase,), "Keep the path, or what the file holds."),
    (
        (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, Awaitable, Iterator),
        "Await it, or make it a list, before it goes into the state.",
    ),
    ((BaseException,), "Keep its text: `repr(error)`."),
    ((memoryview,), "Convert it: `bytes(value)`."),
    *(((plain,), f"Convert it: `{plain.__name__}(value)`.") for plain in (str, bytes, bool, int, float)),
    *(((plain,), f"Convert it: `{plain.__name__}(value)`.") for plain in (list, dict, tuple, set, frozenset)),
)
_OTHERWISE: Final = "Register a pydantic model, a dataclass, an Enum or a NamedTuple, or keep plain values instead."


class Registry:
    """Finds the kind of a class, and a user's class by its tag."""

    def __init__(self) -> None:
        self.kinds: dict[type, Kind] = dict(BUILT_IN)
        self.by_tag: dict[str, Kind] = {}
        self.by_name: dict[str, Kind] = {}
        """The same by module and bare name, which is all that other serializers keep of a class."""

    def register(self, classes: Iterable[type]) -> None:
        """Register classes, and those their fields are declared with as far as they can be kept."""
        for cls in classes:
            self.named(cls)
            for part in discover.types_of(cls):
                with contextlib.suppress(errors.UnsupportedValueError):
                    self.adopt(part)

    def named(self, cls: type) -> None:
        """Register one class a user named, or say why it can't be."""
        if not isinstance(cls, type):
            raise errors.UnsupportedValueError(
                f"{cls!r} is no class. Pass classes: `types=[Prefs]`; for a graph use `memory.register(graph)`."
            )
        if self.adopt(cls) is None:
            raise refuse(
                f"Values of {user.tag_of(cls)}",
                "Make it a pydantic model, a dataclass, an Enum or a NamedTuple, or keep plain values instead.",
            )

    def adopt(self, cls: type) -> Kind | None:
        """Return the kind of a class, registering it if it's a user's; None if it can't be kept."""
        kind = self.kinds.get(cls)
        if kind is None:
            kind = arrays.kind_of(cls) or user.kind_of(cls)
            if kind is None:
                return None
            self.kinds[cls] = kind
        if kind.code == tags.USER:
            self.by_tag[user.tag_of(cls)] = kind
            self.by_name.setdefault(f"{cls.__module__}:{cls.__name__}", kind)
        return kind

    def of(self, value: object) -> Kind:
        """Return the kind of a value, or refuse it with advice."""
        cls = type(value)
        kind = self.kinds.get(cls)
        if kind is None:
            kind = self.adopt(cls)
        if kind is None:
            raise _refusal(value)
        return kind


def _refusal(value: object) -> errors.UnsupportedValueError:
    advice = next((advice for classes, advice in _ADVICE if isinstance(value, classes)), _OTHERWISE)
    return refuse(f"A {_name(type(value))}", advice)


def _name(cls: type) -> str:
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def opaque_parts(payload: Any) -> tuple[str, Any, int | None]:
    """Split a user type's payload into its tag, the rest, and how to make it if another serializer took it apart."""
    tag, *rest = payload
    if not isinstance(tag, str):
        raise TypeError(tag)
    if len(rest) == 2 and type(rest[1]) is int:  # in our own payloads a list or nothing stands there
        return tag, rest[0], rest[1]
    return tag, rest[0] if len(rest) == 1 else rest, None
