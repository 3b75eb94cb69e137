"""What one family file says about one type: its tag, how it is taken apart and made again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from perdure import errors


class Parts(NamedTuple):
    """A value's tag and the plain list or dict its encoding is built of, not yet packed."""

    code: int
    payload: object


@dataclass(frozen=True, slots=True)
class Kind:
    """One supported type.

    `take` turns a value into its payload, of values that can be packed in turn; `make` is the way back.
    A `leaf` has nothing inside that a caller would want to walk into; an `unordered` one has its payload
    sorted by packed bytes.
    """

    code: int
    cls: type
    take: Callable[[Any], object]
    make: Callable[[Any], object]
    leaf: bool = False
    unordered: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A stored value of a type that this process doesn't know: for looking at, and for saving again as it was.

    `how` is set for a value that another serializer took apart: its code for the way to make it again.
    """

    tag: str
    value: Any
    raw: bytes
    how: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)


def table(kinds: Iterable[Kind]) -> dict[type, Kind]:
    """Index kinds by their type."""
    return {kind.cls: kind for kind in kinds}


def refuse(what: str, advice: str) -> errors.UnsupportedValueError:
    """Build the error for a value that can't be kept; its path is found later, by `locate`."""
    return errors.UnsupportedValueError(f"{what} can't be stored so that it comes back equal. {advice}")
