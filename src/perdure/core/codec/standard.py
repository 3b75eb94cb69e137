"""The standard library's value types, and pydantic's secrets and URLs."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import fractions
import ipaddress
import pathlib
import re
import struct
import types
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pydantic

from perdure.core.codec import tags
from perdure.core.codec.kinds import Kind, refuse

_DATETIME: Final = struct.Struct(">HBBBBBIB")
_DATE: Final = struct.Struct(">HBB")
_TIME: Final = struct.Struct(">BBBIB")
_ZONES: Final = (dt.timezone, zoneinfo.ZoneInfo)
_PATTERN_FLAGS: Final = re.ASCII | re.IGNORECASE | re.LOCALE | re.UNICODE | re.MULTILINE | re.DOTALL | re.VERBOSE

_FACTORIES: Final[dict[str, Callable[[], object]]] = {
    "list": list,
    "dict": dict,
    "int": int,
    "set": set,
    "str": str,
    "float": float,
    "bool": bool,
    "bytes": bytes,
    "tuple": tuple,
    "frozenset": frozenset,
    "complex": complex,
    "deque": collections.deque,
    "Counter": collections.Counter,
    "OrderedDict": collections.OrderedDict,
}
_FACTORY_NAMES: Final = {factory: name for name, factory in _FACTORIES.items()}


def flatten(value: Mapping[Any, Any]) -> list[object]:
    """Turn a mapping into ``[key, value, key, value, …]``, in its order."""
    return [part for pair in value.items() for part in pair]


def pair(flat: list[Any]) -> Iterable[tuple[Any, Any]]:
    """Undo `flatten`."""
    return zip(flat[::2], flat[1::2], strict=True)


def _take_int(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _make_int(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _take_surrogates(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def _make_surrogates(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _zone(value: dt.datetime | dt.time) -> tuple[object, ...]:
    zone = value.tzinfo
    if zone is None:
        return ()
    if type(zone) not in _ZONES:
        raise refuse(
            f"A time zone of type {type(zone).__qualname__}", "Use `zoneinfo.ZoneInfo` or `datetime.timezone`."
        )
    return (zone,)


def _take_datetime(value: dt.datetime) -> list[object]:
    v = value
    data = _DATETIME.pack(v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond, v.fold)
    return [data, *_zone(value)]


def _make_datetime(payload: list[Any]) -> dt.datetime:
    data, zone = _zoned(payload)
    year, month, day, hour, minute, second, microsecond, fold = _DATETIME.unpack(data)
    return dt.datetime(year, month, day, hour, minute, second, microsecond, zone, fold=fold)


def _zoned(payload: list[Any]) -> tuple[bytes, dt.tzinfo | None]:
    data, *zones = payload
    (zone,) = zones or (None,)
    return data, zone


def _take_time(value: dt.time) -> list[object]:
    data = _TIME.pack(value.hour, value.minute, value.second, value.microsecond, value.fold)
    return [data, *_zone(value)]


def _make_time(payload: list[Any]) -> dt.time:
    data, zone = _zoned(payload)
    hour, minute, second, microsecond, fold = _TIME.unpack(data)
    return dt.time(hour, minute, second, microsecond, zone, fold=fold)


def _take_date(value: dt.date) -> bytes:
    return _DATE.pack(value.year, value.month, value.day)


def _make_date(data: bytes) -> dt.date:
    return dt.date(*_DATE.unpack(data))


def _take_timezone(value: dt.timezone) -> list[object]:
    offset, name = value.utcoffset(None), value.tzname(None)
    return [offset] if name == dt.timezone(offset).tzname(None) else [offset, name]


def _take_zoneinfo(value: zoneinfo.ZoneInfo) -> str:
    if value.key is None:
        raise refuse("A ZoneInfo without a key", "Load the zone by its name: `ZoneInfo('Europe/Berlin')`.")
    return value.key


def _take_pattern(value: re.Pattern[Any]) -> list[object]:
    if value.flags & ~_PATTERN_FLAGS:
        raise refuse("A regular expression with debug flags", "Compile it without `re.DEBUG`.")
    return [value.pattern, value.flags]


def _make_pattern(payload: list[Any]) -> re.Pattern[Any]:
    pattern, flags = payload
    return re.compile(pattern, flags & _PATTERN_FLAGS)


def _take_defaultdict(value: collections.defaultdict[Any, Any]) -> list[object]:
    factory = value.default_factory
    if factory is None:
        return [None, flatten(value)]
    name = _FACTORY_NAMES.get(factory)
    if name is None:
        raise refuse(
            f"A defaultdict with the factory {factory!r}",
            f"Factories that can be kept: {', '.join(_FACTORIES)}. Or convert it: `dict(value)`.",
        )
    return [name, flatten(value)]


def _make_defaultdict(payload: list[Any]) -> collections.defaultdict[Any, Any]:
    name, flat = payload
    return collections.defaultdict(None if name is None else _FACTORIES[name], pair(flat))


def _make_deque(payload: list[Any]) -> collections.deque[Any]:
    maxlen, items = payload
    return collections.deque(items, maxlen)


def _make_counter(flat: list[Any]) -> collections.Counter[Any]:
    return collections.Counter(dict(pair(flat)))


def _text(code: int, cls: type) -> Kind:
    return Kind(code, cls, str, cls, leaf=True)


def _spread(
    code: int, cls: type, take: Callable[[Any], list[object]], make: Callable[..., object] | None = None
) -> Kind:
    build = make or cls
    return Kind(code, cls, take, lambda payload: build(*payload), leaf=True)


KINDS: Final = (
    Kind(tags.PAIRS, dict, flatten, lambda flat: dict(pair(flat))),
    Kind(tags.BIG_INT, int, _take_int, _make_int, leaf=True),
    Kind(tags.SURROGATE_STR, str, _take_surrogates, _make_surrogates, leaf=True),
    Kind(tags.TUPLE, tuple, list, tuple),
    Kind(tags.SET, set, list, set, leaf=True, unordered=True),
    Kind(tags.FROZENSET, frozenset, list, frozenset, leaf=True, unordered=True),
    Kind(tags.DEQUE, collections.deque, lambda v: [v.maxlen, list(v)], _make_deque),
    Kind(tags.BYTEARRAY, bytearray, bytes, bytearray, leaf=True),
    _spread(tags.COMPLEX, complex, lambda v: [v.real, v.imag]),
    _text(tags.DECIMAL, decimal.Decimal),
    _spread(tags.FRACTION, fractions.Fraction, lambda v: [v.numerator, v.denominator]),
    Kind(tags.DATETIME, dt.datetime, _take_datetime, _make_datetime, leaf=True),
    Kind(tags.DATE, dt.date, _take_date, _make_date, leaf=True),
    Kind(tags.TIME, dt.time, _take_time, _make_time, leaf=True),
    _spread(tags.TIMEDELTA, dt.timedelta, lambda v: [v.days, v.seconds, v.microseconds]),
    _spread(tags.TIMEZONE, dt.timezone, _take_timezone),
    Kind(tags.ZONEINFO, zoneinfo.ZoneInfo, _take_zoneinfo, zoneinfo.ZoneInfo, leaf=True),
    Kind(tags.UUID, uuid.UUID, lambda v: v.bytes, lambda data: uuid.UUID(bytes=data), leaf=True),
    _text(tags.PURE_POSIX_PATH, pathlib.PurePosixPath),
    _text(tags.PURE_WINDOWS_PATH, pathlib.PureWindowsPath),
    _text(tags.POSIX_PATH, pathlib.PosixPath),
    _text(tags.WINDOWS_PATH, pathlib.WindowsPath),
    Kind(tags.PATTERN, re.Pattern, _take_pattern, _make_pattern, leaf=True),
    _text(tags.IPV4_ADDRESS, ipaddress.IPv4Address),
    _text(tags.IPV4_NETWORK, ipaddress.IPv4Network),
    _text(tags.IPV4_INTERFACE, ipaddress.IPv4Interface),
    _text(tags.IPV6_ADDRESS, ipaddress.IPv6Address),
    _text(tags.IPV6_NETWORK, ipaddress.IPv6Network),
    _text(tags.IPV6_INTERFACE, ipaddress.IPv6Interface),
    _spread(tags.RANGE, range, lambda v: [v.start, v.stop, v.step]),
    _spread(tags.SLICE, slice, lambda v: [v.start, v.stop, v.step]),
    Kind(tags.ELLIPSIS, type(...), lambda _: None, lambda _: ..., leaf=True),
    Kind(tags.COUNTER, collections.Counter, flatten, _make_counter),
    Kind(tags.ORDERED_DICT, collections.OrderedDict, flatten, lambda flat: collections.OrderedDict(pair(flat))),
    Kind(tags.DEFAULT_DICT, collections.defaultdict, _take_defaultdict, _make_defaultdict),
    Kind(tags.CHAIN_MAP, collections.ChainMap, lambda v: v.maps, lambda maps: collections.ChainMap(*maps)),
    Kind(tags.NAMESPACE, types.SimpleNamespace, vars, lambda fields: types.SimpleNamespace(**fields)),
    Kind(tags.SECRET_STR, pydantic.SecretStr, lambda v: v.get_secret_value(), pydantic.SecretStr, leaf=True),
    Kind(tags.SECRET_BYTES, pydantic.SecretBytes, lambda v: v.get_secret_value(), pydantic.SecretBytes, leaf=True),
    _text(tags.ANY_URL, pydantic.AnyUrl),
    _text(tags.ANY_HTTP_URL, pydantic.AnyHttpUrl),
    _text(tags.HTTP_URL, pydantic.HttpUrl),
    _text(tags.ANY_WEBSOCKET_URL, pydantic.AnyWebsocketUrl),
    _text(tags.WEBSOCKET_URL, pydantic.WebsocketUrl),
    _text(tags.FILE_URL, pydantic.FileUrl),
    _text(tags.FTP_URL, pydantic.FtpUrl),
)
