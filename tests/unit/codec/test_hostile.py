"""Stored bytes that want to run code, exhaust memory or crash the process."""

from __future__ import annotations

import builtins
import importlib
import os
import pickle
import threading

import ormsgpack
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from tests.unit.codec.sameness import same
from tests.unit.codec.samples import Palette, Point, Profile, prefs, profile

from perdure import errors
from perdure.core.codec import Codec, tags

CALL = ("os", "system", "echo pwned")
STOCK = [prefs(), profile(), Point(1.0, 2.0), Palette.Color.RED, {1, 2}, {"k": HumanMessage("x")}]
NUMBERS = [0, -1, 2**64 - 1, 1.5]
FORMS = [None, "x", b"x", [], [[]], [1, 2, 3], ["a", ["b"]], {}, {"a": 1}, [None] * 9, [-1, 2**40], [0, {}]]


class Ran(BaseException):
    """Something was imported or run; no broad `except` hides it."""


def _ran(name, *_args, **_kwargs):
    raise Ran(name)


def unpack_watched(data):
    codec = Codec()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib, "import_module", _ran)
        patch.setattr(os, "system", _ran)
        patch.setattr(builtins, "__import__", _ran)
        return codec.unpack(data)


def test_the_watch_sees_an_import():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Codec, "unpack", lambda *_: importlib.import_module("os"))
        with pytest.raises(Ran):
            unpack_watched(b"")


@pytest.mark.parametrize("code", range(-128, 10))
@pytest.mark.parametrize("payload", [CALL, ["os", "system", ["echo"]], ["os", "system", {"command": "echo"}], b"x"])
def test_bytes_that_name_code_are_damage(code, payload):
    packed = ormsgpack.packb(payload)
    data = b"\x91\xc7" + bytes([len(packed), code & 0xFF]) + packed  # a list of one extension
    with pytest.raises(errors.CorruptValueError, match="unknown type tag"):
        unpack_watched(data)


@pytest.mark.parametrize(
    "tag", ["os:system", "builtins:eval", "subprocess:Popen", "tests.unit.codec.samples:Point", "", ":", "os"]
)
def test_a_tag_is_never_imported(tag):
    data = ormsgpack.packb(ormsgpack.Ext(tags.USER, ormsgpack.packb([tag, {"command": "echo"}])))
    with pytest.raises(errors.UnknownTypeError):
        unpack_watched(data)


@pytest.mark.parametrize("value", STOCK)
def test_what_the_stock_serializer_writes_is_not_read(value):
    _, data = JsonPlusSerializer().dumps_typed(value)
    with pytest.raises(errors.StoredValueError):
        Codec([type(value)] if type(value) in (Point, Profile) else ()).unpack(data)


def test_a_pickle_is_damage():
    with pytest.raises(errors.CorruptValueError):
        Codec().open(pickle.dumps({"a": 1}), where="row 1")


def test_a_constructors_dict_stays_a_dict(monkeypatch):
    monkeypatch.setenv("HOME", "secret")
    value = HumanMessage("x", additional_kwargs={"a": {"lc": 1, "type": "secret", "id": ["HOME"]}})
    codec = Codec()
    assert same(codec.unpack(codec.pack(value)), value)


@pytest.mark.parametrize("head", [b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xc9"])
def test_a_header_that_claims_too_much_is_damage(head):
    with pytest.raises(errors.CorruptValueError):
        Codec().unpack(head + b"\xff\xff\xff\xff")


@pytest.mark.parametrize("level", [b"\x91", b"\x81\xa1a"])
def test_a_hundred_thousand_stored_levels_are_damage(level):
    with pytest.raises(errors.CorruptValueError):
        Codec().unpack(level * 100_000 + b"\xc0")


@pytest.mark.parametrize(("extensions", "lists"), [(5_000, 1), (90, 1_000), (20, 1_000), (3, 1_000), (2_000, 3)])
def test_levels_hidden_in_extensions_do_not_exhaust_the_stack(extensions, lists):
    data = b"\xc0"
    for _ in range(extensions):
        data = b"\x91" * lists + b"\xc9" + len(data).to_bytes(4, "big") + bytes([tags.TUPLE]) + b"\x91" + data
    outcome = []

    def unpack():
        try:
            Codec().unpack(data)
        except errors.CorruptValueError as error:
            outcome.append(error)

    thread = threading.Thread(target=unpack)
    thread.start()
    thread.join()
    assert outcome or extensions == 3


@pytest.mark.parametrize("code", sorted(set(range(10, 128)) - {100}))
@pytest.mark.parametrize(
    "payload",
    [
        None,
        0,
        -1,
        2**64 - 1,
        1.5,
        "x",
        b"x",
        [],
        [[]],
        [1, 2, 3],
        ["a", ["b"]],
        {},
        {"a": 1},
        [None] * 9,
        [-1, 2**40],
        [0, {}],
    ],
)
def test_a_payload_of_the_wrong_form_is_damage_or_a_value(code, payload):
    data = ormsgpack.packb({"k": ormsgpack.Ext(code, ormsgpack.packb(payload))})
    try:
        Codec().unpack(data, where="row 1")
    except errors.StoredValueError as error:
        assert "row 1" in str(error)  # noqa: PT017 - most payloads are damage; a few make a value


@pytest.mark.parametrize(
    ("code", "payload"),
    [
        (tags.NUMPY_ARRAY, ["O8", [1], "C", b"\x01" * 8]),
        (tags.NUMPY_ARRAY, [[["a", "O"]], [1], "C", b"\x01" * 8]),
        (tags.NUMPY_ARRAY, ["<f8", [2**40], "C", b""]),
        (tags.NUMPY_ARRAY, ["<f8", [-1, -1], "C", b"\x00" * 8]),
        (tags.NUMPY_SCALAR, ["load", b"x"]),
        (tags.NUMPY_SCALAR, ["O", b"\x01" * 8]),
        (tags.ZONEINFO, "../../etc/passwd"),
        (tags.PATTERN, ["(", 0]),
        (tags.DEFAULT_DICT, ["eval", []]),
        (tags.HUMAN_MESSAGE, [0]),
        (tags.HUMAN_MESSAGE, [1 << 14, "x"]),
        (tags.SEND, ["a"]),
        (tags.SEND, ["a", 1, None, 2]),
        (tags.SET, [[]]),
    ],
)
def test_a_payload_that_promises_more_than_it_has_is_damage(code, payload):
    with pytest.raises(errors.CorruptValueError):
        Codec().unpack(ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(payload))))


def test_references_are_damage_where_nobody_resolves_them():
    with pytest.raises(errors.CorruptValueError):
        Codec().unpack(ormsgpack.packb(ormsgpack.Ext(100, b"x")))
