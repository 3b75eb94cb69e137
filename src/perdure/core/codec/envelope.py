"""Packed bytes -> stored bytes: compressed where that helps, under a version, flags and a checksum.

    version (1)  flags (1)  CRC-32 of all the rest (4)  body
    body, if compressed:  size of the packed bytes (LEB128)  zstd frame without magic number and size, with dictionary

The flags say which dictionary: 1 the first (read only), 2 the second.

CRC-32 finds every single flipped bit and every burst up to 32 bits, and costs least on small values. It guards
against damage, not against intent: that is what encryption's tag is for.
"""

from __future__ import annotations

import collections
import zlib
from typing import Final

import zstandard

from perdure import errors
from perdure.core.codec.dictionary import DICTIONARY, RECORDS

VERSION: Final = 1
HEADER: Final = 6
MAX_SIZE: Final = 1 << 30
"""Most bytes a stored value may unpack to."""

# A message with a provider's metadata takes 25 to 50 % less with the dictionary, plain text the same as without.
_ZSTD: Final = 1
_ZSTD_2: Final = 2
_LEVEL: Final = 3
_TOO_SMALL: Final = 32
_FORMAT: Final = zstandard.FORMAT_ZSTD1_MAGICLESS
_PARAMETERS: Final = zstandard.ZstdCompressionParameters.from_level(
    _LEVEL, format=_FORMAT, write_content_size=False, write_checksum=False, write_dict_id=False
)
_DICTIONARIES: Final = {
    flag: zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    for flag, content in ((_ZSTD, DICTIONARY), (_ZSTD_2, RECORDS))
}

# Contexts are costly to make and serve one thread at a time: each call borrows one.
_compressors: Final[collections.deque[zstandard.ZstdCompressor]] = collections.deque(maxlen=64)
_decompressors: Final[dict[int, collections.deque[zstandard.ZstdDecompressor]]] = {
    flag: collections.deque(maxlen=64) for flag in _DICTIONARIES
}


def seal(packed: bytes) -> bytes:
    """Return packed bytes as they are stored."""
    flags, body = 0, packed
    if len(packed) >= _TOO_SMALL:
        compressed = _size(len(packed)) + _compress(packed)
        if len(compressed) < len(packed):
            flags, body = _ZSTD_2, compressed
    head = bytes((VERSION, flags))
    return head + _checksum(head, body) + body


def open_(sealed: bytes, *, where: str) -> bytes:
    """Return the packed bytes, or raise CorruptValueError if anything about the stored ones is off."""
    head, body = sealed[:2], sealed[HEADER:]
    if len(sealed) < HEADER or sealed[2:HEADER] != _checksum(head, body):
        raise _corrupt(where, "its checksum doesn't match")
    version, flags = head
    if version != VERSION or flags not in {0, *_DICTIONARIES}:
        raise _corrupt(where, f"version {version} with flags {flags} is unknown to this release")
    return _decompress(body, flags, where) if flags else body


def _checksum(head: bytes, body: bytes) -> bytes:
    return zlib.crc32(body, zlib.crc32(head)).to_bytes(4, "big")


def _corrupt(where: str, why: str) -> errors.CorruptValueError:
    return errors.CorruptValueError(f"{where or 'A stored value'} is damaged: {why}. Restore it from a backup.")


def _size(size: int) -> bytes:
    out = bytearray()
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out)


def _split(body: bytes) -> tuple[int, bytes]:
    size = 0
    for at, byte in enumerate(body[:5]):
        size |= (byte & 0x7F) << 7 * at
        if byte <= 0x7F:
            return size, body[at + 1 :]
    return MAX_SIZE + 1, b""


def _compress(packed: bytes) -> bytes:
    try:
        context = _compressors.pop()
    except IndexError:
        context = zstandard.ZstdCompressor(dict_data=_DICTIONARIES[_ZSTD_2], compression_params=_PARAMETERS)
    compressed = context.compress(packed)
    _compressors.append(context)
    return compressed


def _decompress(body: bytes, flag: int, where: str) -> bytes:
    size, frame = _split(body)
    if size > MAX_SIZE:
        raise _corrupt(where, f"it claims more than {MAX_SIZE} bytes")
    try:
        context = _decompressors[flag].pop()
    except IndexError:
        context = zstandard.ZstdDecompressor(dict_data=_DICTIONARIES[flag], format=_FORMAT)
    try:
        packed = context.decompress(frame, max_output_size=size)
    except zstandard.ZstdError as error:
        raise _corrupt(where, str(error)) from error
    _decompressors[flag].append(context)
    if len(packed) != size:
        raise _corrupt(where, "it is shorter than it claims")
    return packed
