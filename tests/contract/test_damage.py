"""What the database holds is checked before it is believed."""

from __future__ import annotations

import pickle

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from tests.support import config, put

from perdure import Memory, errors
from perdure.core.values import DEEPEST

TABLES = ("entries", "checkpoints", "writes")


def filled(memory):
    words = "some words of a message " * 20
    where = put(memory.checkpointer, config(), {"messages": [HumanMessage(words, id="1")], "files": {"a": words}})
    memory.checkpointer.put_writes(where, [("files", {"b": words + "b"}), ("n", 1)], "task")
    return where


def reread(memory, where):
    """Read with nothing cached."""
    calls = memory.checkpointer._calls
    calls.caches.drop("default", "t1")
    return memory.checkpointer.get_tuple(where)


@pytest.fixture(scope="module")
def opened():
    with Memory.open("sqlite://") as memory:
        yield memory, filled(memory)


@given(data=st.data())
def test_one_flipped_bit_anywhere_in_a_stored_value_is_an_error(opened, data):
    memory, where = opened
    connection = memory.engine._connection
    table = data.draw(st.sampled_from(TABLES))
    key = "rowid" if table != "writes" else "task"
    found = connection.execute(f"SELECT {key}, payload FROM {table}").fetchall()
    row, payload = data.draw(st.sampled_from(found))
    bit = data.draw(st.integers(0, 8 * len(payload) - 1))
    damaged = bytearray(payload)
    damaged[bit // 8] ^= 1 << bit % 8
    try:
        connection.execute(f"UPDATE {table} SET payload = ? WHERE {key} = ?", (bytes(damaged), row))
        with pytest.raises(errors.CorruptValueError, match="'t1'"):
            reread(memory, where)
    finally:
        connection.execute(f"UPDATE {table} SET payload = ? WHERE {key} = ?", (payload, row))
    assert reread(memory, where).checkpoint["channel_values"]["messages"][0].id == "1"


NAMED = ormsgpack.packb(["os", "system", "touch /nowhere", "call"])
HOSTILE = {
    "a function to import": ormsgpack.packb(ormsgpack.Ext(1, NAMED)),
    "a method to call": ormsgpack.packb(ormsgpack.Ext(3, NAMED)),
    "keyword arguments": ormsgpack.packb(ormsgpack.Ext(2, ormsgpack.packb(["os", "system", {"command": "x"}]))),
    "an unknown tag": ormsgpack.packb(ormsgpack.Ext(77, b"pickle")),
    "a header of 2^32-1 items": b"\xdd\xff\xff\xff\xff",
    "a map of 2^32-1 pairs": b"\xdf\xff\xff\xff\xff",
    "100,000 nested lists": b"\x91" * 100_000 + b"\xc0",
    "nothing": b"",
    "an entry that is not there": ormsgpack.packb(ormsgpack.Ext(100, ormsgpack.packb([9, 9]))),
    "a range of 2^40 entries": ormsgpack.packb(ormsgpack.Ext(101, ormsgpack.packb([0, 0, 2**40]))),
    "a range below zero": ormsgpack.packb(ormsgpack.Ext(101, ormsgpack.packb([0, -5, 3]))),
    "an entry that holds itself": ormsgpack.packb(ormsgpack.Ext(100, ormsgpack.packb([0, 0]))),
    "a list of itself": ormsgpack.packb(ormsgpack.Ext(101, ormsgpack.packb([-1, 0, 0]))),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_stored_bytes_that_were_made_to_harm_are_an_error(hostile):
    with Memory.open("sqlite://") as memory:
        where = filled(memory)
        seal = memory.checkpointer._codec.seal
        connection = memory.engine._connection
        connection.execute("UPDATE entries SET payload = ?", (seal(b"\xc1" + hostile),))
        with pytest.raises(errors.StoredValueError):
            reread(memory, where)


@pytest.mark.parametrize("raw", [pickle.dumps({"a": 1}), b"", b"\0", ormsgpack.packb({"a": 1})])
def test_bytes_without_our_envelope_are_an_error(raw):
    with Memory.open("sqlite://") as memory:
        where = filled(memory)
        for table in TABLES:
            memory.engine._connection.execute(f"UPDATE {table} SET payload = ?", (raw,))
            with pytest.raises(errors.CorruptValueError):
                reread(memory, where)


def test_values_nested_as_deep_as_allowed_come_back(memory, saver):
    for width in (1, 3, 40):
        value = "the innermost"
        for level in range(DEEPEST - 3):
            value = {f"{level} {n}": value if not n else f"padding {n} " * 10 for n in range(width)}
        where = put(saver, config(f"wide {width}"), {"v": value})
        calls = memory.checkpointer._calls
        calls.caches.drop("default", f"wide {width}")
        assert saver.get_tuple(where).checkpoint["channel_values"]["v"] == value


def test_the_control_an_undamaged_value_is_read(opened):
    memory, where = opened
    assert reread(memory, where) is not None
