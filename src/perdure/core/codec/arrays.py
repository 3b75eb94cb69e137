"""numpy's scalars and arrays, by dtype, shape and raw bytes; numpy is imported only when one is met."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, Final, Literal

from perdure.core.codec import tags
from perdure.core.codec.kinds import Kind, refuse

if TYPE_CHECKING:
    import numpy as np

_TEXTS: Final = ("str_", "bytes_")
_DATES: Final = ("datetime64", "timedelta64")
_NUMBERS: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "longlong", "ulonglong"),
    *("float16", "float32", "float64", "longdouble", "complex64", "complex128", "clongdouble"),
)
_OBJECTS: Final = "O"


def kind_of(cls: type) -> Kind | None:
    """Return the kind of a numpy class, if `cls` is one that can be kept."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if cls is numpy.ndarray:
        return Kind(tags.NUMPY_ARRAY, cls, _take_array, make_array, leaf=True)
    if issubclass(cls, numpy.generic) and cls.__module__ == "numpy":
        return Kind(tags.NUMPY_SCALAR, cls, _take_scalar, make_scalar, leaf=True)
    return None


def _take_scalar(value: Any) -> list[object]:
    name = _scalar_name(type(value))
    if name in _TEXTS:
        return [name, value.item() if name == "bytes_" else str(value)]
    if name in _DATES:
        return [value.dtype.str, value.tobytes()]
    if name == "void":
        return [_describe(value.dtype), value.tobytes()]
    return [name, value.tobytes()]


def _scalar_name(cls: type) -> str:
    if cls.__name__ in (*_TEXTS, *_DATES, *_NUMBERS, "void"):
        return cls.__name__
    raise refuse(f"A numpy scalar of type {cls.__name__}", "Convert it with `.item()`.")


def make_scalar(payload: list[Any]) -> object:
    """Make a numpy scalar from its type's name or dtype and its bytes."""
    import numpy as np  # noqa: PLC0415 - only a process that loads an array needs numpy

    name, data = payload
    if name == "str_":
        return np.str_(data)
    if name == "bytes_":
        return np.bytes_(data)
    dtype = np.dtype(getattr(np, name)) if name in _NUMBERS else _dtype(name)
    return np.ndarray((), dtype, data)[()] if dtype.names is None else np.ndarray((1,), dtype, data).copy()[0]


def _take_array(value: np.ndarray[Any, Any]) -> list[object]:
    order: Literal["F", "C"] = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    if value.dtype.kind == _OBJECTS:
        return [_OBJECTS, list(value.shape), order, list(value.ravel(order))]
    return [_describe(value.dtype), list(value.shape), order, value.tobytes(order)]


def make_array(payload: list[Any]) -> object:
    """Make a numpy array; the bytes must be exactly as many as dtype and shape need."""
    import numpy as np  # noqa: PLC0415 - only a process that loads an array needs numpy

    described, shape, order, data = payload
    if described == _OBJECTS:
        return _objects(shape, order, data)
    dtype = _dtype(described)
    if math.prod(shape) * dtype.itemsize != len(data) or min(shape, default=0) < 0:
        raise ValueError(shape)
    return np.ndarray(tuple(shape), dtype, bytearray(data), order=order)


def _objects(shape: list[int], order: Any, items: list[object]) -> object:
    import numpy as np  # noqa: PLC0415 - only a process that loads an array needs numpy

    if math.prod(shape) != len(items):
        raise ValueError(shape)
    flat = np.empty(len(items), dtype=object)
    for at, item in enumerate(items):
        flat[at] = item
    return flat.reshape(shape, order=order)


def _describe(dtype: np.dtype[Any]) -> object:
    if dtype.hasobject or dtype.kind not in "biufcmMSUV":
        raise refuse(f"An array of dtype {dtype}", "Convert it with `.tolist()`, or to a plain dtype.")
    described: object = dtype.str if dtype.names is None and dtype.subdtype is None else _deep_list(dtype.descr)
    if _dtype(described) != dtype or dtype.metadata or dtype.isalignedstruct:
        raise refuse(f"An array of dtype {dtype}", "Convert it to a dtype without padding, titles and metadata.")
    return described


def _deep_list(described: Any) -> Any:
    return [_deep_list(part) for part in described] if isinstance(described, list | tuple) else described


def _dtype(described: Any) -> np.dtype[Any]:
    import numpy as np  # noqa: PLC0415 - only a process that loads an array needs numpy

    dtype = np.dtype(described if isinstance(described, str) else [_field(*field) for field in described])
    if dtype.hasobject:
        raise ValueError(described)
    return dtype


def _field(name: str, described: Any, shape: list[int] | None = None) -> tuple[Any, ...]:
    dtype = _dtype(described)
    return (name, dtype) if shape is None else (name, dtype, tuple(shape))
