"""Vectors on PostgreSQL's wire: an ``array("f")`` goes as ``real[]``, and ``real[]`` comes as little-endian bytes.

That is what SQLite makes of the same parameter: a BLOB of four bytes for each number.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from psycopg import pq
from psycopg.adapt import Loader

__all__ = ["ARRAY", "FloatsLoader", "encoded"]

ARRAY = 1021
"""The type ``real[]``."""
_REAL = 700
_HEADER = np.dtype([("dimensions", ">i4"), ("nulls", ">i4"), ("type", ">i4"), ("length", ">i4"), ("from", ">i4")])
_ELEMENT = np.dtype([("size", ">i4"), ("number", ">f4")])


def encoded(values: array[float]) -> bytes:
    """Return the binary form of a ``real[]``."""
    elements = np.empty(len(values), dtype=_ELEMENT)
    elements["size"], elements["number"] = 4, values
    return np.array([(1, 0, _REAL, len(values), 1)], dtype=_HEADER).tobytes() + elements.tobytes()


class FloatsLoader(Loader):
    """Reads the binary form of a ``real[]`` of one dimension."""

    format = pq.Format.BINARY

    def load(self, data: Any) -> bytes:
        """Return little-endian floats."""
        return np.frombuffer(data, dtype=_ELEMENT, offset=_HEADER.itemsize)["number"].astype("<f4").tobytes()
