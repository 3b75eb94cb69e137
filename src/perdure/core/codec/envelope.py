"""Packed bytes -> stored bytes: compressed where that helps, under a version, flags and a checksum.

    version (1)  flags (1)  CRC-32 of all the rest (4)  body
    body, if compressed:  size of the packed bytes (LEB128)  zstd frame without magic number and size, with dictionary 1

CRC-32 finds every single flipped bit and every burst up to 32 bits, and costs least on small values. It guards
against damage, not against intent: that is what encryption's tag is for.
"""

from __future__ import annotations

import collections
import zlib
from typing import Final

import zstandard

from perdure import errors
from perdure.core.codec.dictionary import DICTIONARY

VERSION: Final = 1
HEADER: Final = 6
MAX_SIZE: Final = 1 << 30
"""Most bytes a stored value may unpack to."""

# A message with a provider's metadata takes 25 to 50 % less with the dictionary, plain text the same as without.
_ZSTD: Final = 1
_LEVEL: Final = 3
_TOO_SMALL: Final = 64
_FORMAT: Final = zstandard.FORMAT_ZSTD1_MAGICLESS
_PARAMETERS: Final = zstandard.ZstdCompressionParameters.from_level(
    _LEVEL, format=_FORMAT, write_content_size=False, write_checksum=False, write_dict_id=False
)
_DICTIONARY: Final = zstandard.ZstdCompressionDict(DICTIONARY, dict_type=zstandard.DICT_TYPE_RAWCONTENT)

# Contexts are costly to make and serve one thread at a time: each call borrows one.
_compressors: Final[collections.deque[zstandard.ZstdCompressor]] = collections.deque(maxlen=64)
_decompressors: Final[collections.deque[zstandard.ZstdDecompressor]] = collections.deque(maxlen=64)


def seal(packed: bytes) -> bytes:
    """Return packed bytes as they are stored."""
    flags, body = 0, packed
    if len(packed) >= _TOO_SMALL:
        compressed = _size(len(packed)) + _compress(packed)
        if len(compressed) < len(packed):
            flags, body = _ZSTD, compressed
    head = bytes((VERSION, flags))
    return head + _checksum(head, body) + body


def open_(sealed: bytes, *, where: str) -> bytes:
    """Return the packed bytes, or raise CorruptValueError if anything about the stored ones is off."""
    head, body = sealed[:2], sealed[HEADER:]
    if len(sealed) < HEADER or sealed[2:HEADER] != _checksum(head, body):
        raise _corrupt(where, "its checksum doesn't match")
    version, flags = head
    if version != VERSION or flags & ~_ZSTD:
        raise _corrupt(where, f"version {version} with flags {flags} is unknown to this release")
    return _decompress(body, where) if flags & _ZSTD else body


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
        context = zstandard.ZstdCompressor(dict_data=_DICTIONARY, compression_params=_PARAMETERS)
    compressed = context.compress(packed)
    _compressors.append(context)
    return compressed


def _decompress(body: bytes, where: str) -> bytes:
    size, frame = _split(body)
    if size > MAX_SIZE:
        raise _corrupt(where, f"it claims more than {MAX_SIZE} bytes")
    try:
        context = _decompressors.pop()
    except IndexError:
        context = zstandard.ZstdDecompressor(dict_data=_DICTIONARY, format=_FORMAT)
    try:
        packed = context.decompress(frame, max_output_size=size)
    except zstandard.ZstdError as error:
        raise _corrupt(where, str(error)) from error
    _decompressors.append(context)
    if len(packed) != size:
        raise _corrupt(where, "it is shorter than it claims")
    return packed
