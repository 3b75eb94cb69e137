"""Counts how deep packed bytes nest, without recursion and without building anything."""

from __future__ import annotations

from typing import Final

# First byte -> (bytes of the length that follows, fixed bytes after it).
_SIZES: Final = {
    0xC4: (1, 0),
    0xC5: (2, 0),
    0xC6: (4, 0),
    0xC7: (1, 1),
    0xC8: (2, 1),
    0xC9: (4, 1),
    0xCA: (0, 4),
    0xCB: (0, 8),
    **{0xCC + at: (0, 1 << at) for at in range(4)},
    **{0xD0 + at: (0, 1 << at) for at in range(4)},
    **{0xD4 + at: (0, 1 + (1 << at)) for at in range(5)},
    0xD9: (1, 0),
    0xDA: (2, 0),
    0xDB: (4, 0),
}
_ARRAYS: Final = {0xDC: 2, 0xDD: 4}
_MAPS: Final = {0xDE: 2, 0xDF: 4}


def depth_of(data: bytes) -> int:
    """Return the number of lists and maps around the innermost value; extensions count as values."""
    at, deepest, open_ = 0, 0, [1]
    while open_:
        if open_[-1] == 0:
            open_.pop()
            continue
        open_[-1] -= 1
        size, parts = _step(data, at)
        at += size
        if parts:
            open_.append(parts)
            deepest = max(deepest, len(open_) - 1)
    return deepest


def _step(data: bytes, at: int) -> tuple[int, int]:
    """Return how many bytes the value's head (or all of a scalar) takes, and how many values it announces."""
    first = data[at]
    if 0x80 <= first <= 0x8F:
        return 1, (first & 0x0F) * 2
    if 0x90 <= first <= 0x9F:
        return 1, first & 0x0F
    if 0xA0 <= first <= 0xBF:
        return 1 + (first & 0x1F), 0
    for width, times in ((_ARRAYS.get(first), 1), (_MAPS.get(first), 2)):
        if width is not None:
            return 1 + width, _number(data, at + 1, width) * times
    width, fixed = _SIZES.get(first, (0, 0))
    return 1 + width + fixed + _number(data, at + 1, width), 0


def _number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "big")
