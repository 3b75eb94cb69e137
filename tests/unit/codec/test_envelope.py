"""Stored bytes: small, and nothing about them can change unnoticed."""

from __future__ import annotations

import os

import pytest
from tests.unit.codec.samples import MESSAGES

from perdure import errors
from perdure.core.codec import Codec, envelope

CODEC = Codec()
PACKED = {
    "tiny": CODEC.pack(1),
    "short": CODEC.pack("hello there"),
    "message": CODEC.pack(MESSAGES["ai"]),
    "compressible": CODEC.pack(["the same words again and again"] * 20),
    "random": CODEC.pack(os.urandom(200)),
}


@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
def test_opening_undoes_sealing(packed):
    assert CODEC.open(CODEC.seal(packed)) == packed


@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
def test_every_flipped_bit_is_found(packed):
    sealed = CODEC.seal(packed)
    for at in range(len(sealed) * 8):
        flipped = bytearray(sealed)
        flipped[at // 8] ^= 1 << at % 8
        with pytest.raises(errors.CorruptValueError, match="row 7"):
            CODEC.open(bytes(flipped), where="row 7")


def test_without_the_checksum_a_flipped_bit_would_pass(monkeypatch):
    sealed = bytearray(CODEC.seal(PACKED["short"]))
    sealed[-1] ^= 1
    monkeypatch.setattr(envelope, "_checksum", lambda _head, _body: bytes(sealed[2:6]))
    assert CODEC.open(bytes(sealed)) != PACKED["short"]


@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
def test_every_cut_is_found(packed):
    sealed = CODEC.seal(packed)
    for size in range(len(sealed)):
        with pytest.raises(errors.CorruptValueError):
            CODEC.open(sealed[:size])


def test_a_longer_value_is_found():
    with pytest.raises(errors.CorruptValueError):
        CODEC.open(CODEC.seal(b"\xc0") + b"\x00")


def _envelope(version, flags, body):
    head = bytes((version, flags))
    return head + envelope._checksum(head, body) + body


@pytest.mark.parametrize(("version", "flags"), [(0, 0), (2, 0), (255, 0), (1, 4), (1, 128), (1, 3)])
def test_an_unknown_version_or_flag_is_told(version, flags):
    with pytest.raises(errors.CorruptValueError, match="unknown to this release"):
        CODEC.open(_envelope(version, flags, b"\xc0"))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x05",
        b"\xff" * 6,
        b"\xff\xff\xff\xff\x7f" + b"x" * 20,
        b"\x05not zstd",
        b"\x01" + envelope._compress(b"far more than one byte" * 10),
        b"\x7f" + envelope._compress(b"less than that"),
    ],
)
def test_a_frame_that_lies_about_its_size_is_damage(body):
    with pytest.raises(errors.CorruptValueError):
        CODEC.open(_envelope(1, 1, body))


def test_a_value_of_megabytes_is_kept():
    packed = CODEC.pack({"text": "word " * 1_000_000})
    sealed = CODEC.seal(packed)
    assert len(sealed) < len(packed) / 100
    assert CODEC.open(sealed) == packed


def test_the_header_is_small():
    assert len(CODEC.seal(b"\xc0")) == 7


def test_a_message_of_text_takes_less_than_its_text():
    text = "Linear instead of quadratic, loud instead of silent: the same behaviour on every engine. " * 2
    message = type(MESSAGES["human"])(text, id="7df46f62-8b74-4aa0-9387-7df46f628b74")
    assert len(CODEC.seal(CODEC.pack(message))) < len(text)
