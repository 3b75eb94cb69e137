"""Any tree of supported values comes back equal and of the same type, by bytes that depend on nothing else."""

from __future__ import annotations

import collections
import contextlib
import copy
import datetime as dt
import zoneinfo

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command, Interrupt, Overwrite, Send
from tests.unit.codec.sameness import same
from tests.unit.codec.samples import Access, Box, Cell, Pair, Palette, Profile, Word

from perdure import errors
from perdure.core.codec import Codec

TEXT = st.text(st.characters(), max_size=12)  # lone surrogates included
ZONES = st.sampled_from([None, dt.UTC, zoneinfo.ZoneInfo("Europe/Berlin"), dt.timezone(dt.timedelta(hours=-3), "X")])
MEMBERS = st.sampled_from([Palette.Color.RED, Palette.Color.BLUE, Word.YES, Access.READ, Access.READ | Access.WRITE])
SCALARS = st.sampled_from([np.int64(3), np.float32(0.5), np.str_("x"), np.datetime64("2024-01-01"), np.bool_(True)])

HASHABLE_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**62, max_value=2**66),
    st.floats(allow_nan=False),
    TEXT,
    st.binary(max_size=12),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.datetimes(timezones=ZONES, allow_imaginary=True),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.ip_addresses(),
    st.complex_numbers(allow_nan=False),
    MEMBERS,
)
HASHABLE = st.recursive(
    HASHABLE_LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(inner, max_size=3),
        st.builds(Cell, st.lists(inner, max_size=2).map(tuple), inner),
    ),
    max_leaves=4,
)
LEAVES = st.one_of(
    HASHABLE,
    st.floats(),
    st.binary(max_size=8).map(bytearray),
    SCALARS,
    st.sets(HASHABLE, max_size=4),
    st.lists(st.integers(-9, 9), max_size=5).map(np.array),
    st.dictionaries(HASHABLE, st.integers(), max_size=3).map(collections.Counter),
)


def _call(args):
    return {"name": "f", "args": args, "id": "1", "type": "tool_call"}


def _containers(inner):
    by_name = st.dictionaries(TEXT, inner, max_size=3)
    lists = st.lists(inner, max_size=3)
    return st.one_of(
        lists,
        by_name,
        lists.map(tuple),
        lists.map(lambda items: collections.deque(items, maxlen=5)),
        st.dictionaries(HASHABLE, inner, max_size=3),
        by_name.map(collections.OrderedDict),
        by_name.map(lambda items: collections.defaultdict(list, items)),
        st.builds(HumanMessage, TEXT, id=st.none() | TEXT, response_metadata=by_name),
        st.builds(AIMessage, TEXT, tool_calls=st.lists(by_name.map(_call), max_size=2), name=st.none() | TEXT),
        st.builds(ToolMessage, TEXT, tool_call_id=TEXT, artifact=inner),
        st.builds(Document, TEXT, metadata=by_name),
        st.builds(Send, TEXT, inner),
        st.builds(Command, update=by_name, resume=inner, goto=st.lists(TEXT, max_size=2)),
        st.builds(Overwrite, inner),
        st.builds(Interrupt, inner, id=TEXT),
        st.builds(Box, inner),
        st.builds(Pair, inner, inner),
        st.builds(Profile, when=inner, hobby=inner),
        st.builds(Profile, name=TEXT),
    )


TREES = st.recursive(LEAVES, _containers, max_leaves=12)
QUICK = settings(max_examples=150, deadline=None)


@QUICK
@given(TREES)
def test_every_tree_comes_back_equal_and_of_the_same_type(tree):
    codec = Codec()
    assert same(codec.unpack(codec.open(codec.seal(codec.pack(tree)))), tree)


@QUICK
@given(TREES)
def test_copies_have_equal_digests(tree):
    codec = Codec()
    packed = codec.pack(tree)
    assert codec.digest(codec.pack(copy.deepcopy(tree))) == codec.digest(packed)
    assert codec.pack(codec.unpack(packed)) == packed


@QUICK
@given(TREES)
def test_a_stranger_re_saves_every_tree_byte_for_byte(tree):
    packed, stranger = Codec().pack(tree), Codec()
    assert stranger.pack(stranger.unpack_opaque(packed)) == packed


@QUICK
@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_damage(data):
    codec = Codec()
    for read in (codec.unpack, codec.unpack_opaque, codec.open):
        with contextlib.suppress(errors.StoredValueError):
            read(data)


@settings(max_examples=60, deadline=None)
@given(TREES, st.data())
def test_any_change_to_packed_bytes_is_a_value_or_damage(tree, data):
    codec = Codec()
    packed = bytearray(codec.pack(tree))
    packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(errors.StoredValueError):
        codec.unpack(bytes(packed))


@QUICK
@given(TREES, st.data())
def test_any_change_to_sealed_bytes_is_found(tree, data):
    codec = Codec()
    sealed = bytearray(codec.seal(codec.pack(tree)))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    try:
        codec.open(bytes(sealed))
    except errors.CorruptValueError:
        return
    raise AssertionError
