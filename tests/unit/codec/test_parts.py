"""Callers that walk into a value and put references of their own inside."""

from __future__ import annotations

import ormsgpack
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Command, Overwrite, Send
from tests.unit.codec.samples import LANGGRAPH, MESSAGES, NUMPY, STANDARD, USER, VALUES, Box, Cell, Pair, Profile

from perdure import errors
from perdure.core.codec import REF_CODES, Codec, describe_exception, tags

LEAVES = [1, 1.5, None, "x", b"x", [1, (2,)], {"a": (1,)}, MESSAGES["human"], MESSAGES["document"], *NUMPY.values()]
COMPOSED = [(1,), {1: 2}, *LANGGRAPH.values(), STANDARD["deque"], STANDARD["OrderedDict"], USER["pydantic"], Pair(1)]


@pytest.mark.parametrize("value", LEAVES, ids=repr)
def test_a_leaf_has_no_parts(value):
    assert Codec().parts(value) is None


@pytest.mark.parametrize("value", COMPOSED, ids=repr)
def test_a_composed_value_has_parts(value):
    assert Codec().parts(value) is not None


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_packing_the_parts_gives_the_bytes_of_the_value(value):
    codec = Codec()
    parts = codec.parts(value)
    if parts is not None:
        extension = ormsgpack.Ext(parts.code, codec.pack_tree(parts.payload))
        assert codec.pack_tree(extension) == codec.pack(value)


HOLDERS = {
    "Send": lambda part: Send("n", {"messages": part}),
    "Command": lambda part: Command(update={"messages": part}, goto=[Send("n", part)]),
    "Overwrite": Overwrite,
    "delta snapshot": _DeltaSnapshot,
    "tuple": lambda part: (1, (part,)),
    "int key": lambda part: {1: part},
    "dataclass": Box,
    "slots": lambda part: Cell((), part),
    "model": lambda part: Profile(when=part),
    "NamedTuple": lambda part: Pair(part, [part]),
}


def _refer(codec, value, kept):
    """Replace every list of messages, however deep, by a reference."""
    if isinstance(value, list) and value and all(map(codec.is_message, value)):
        kept[b"log"] = value
        return ormsgpack.Ext(100, b"log")
    if type(value) is list:
        return [_refer(codec, part, kept) for part in value]
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: _refer(codec, part, kept) for key, part in value.items()}
    parts = codec.parts(value)
    if parts is None:
        return value
    return ormsgpack.Ext(parts.code, codec.pack_tree(_refer(codec, parts.payload, kept)))


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_references_are_resolved_wherever_they_stand(hold):
    codec, kept = Codec(), {}
    value = hold([HumanMessage("a"), HumanMessage("b")])
    packed = codec.pack_tree(_refer(codec, value, kept))
    assert b"\xa1a" not in packed.replace(b"\xa1a\x92", b"")  # the texts are not inside
    assert codec.unpack(packed, refs=lambda code, payload: kept[payload] if code == 100 else None) == value


def test_the_error_of_a_resolver_is_the_error():
    packed = Codec().pack_tree([(1,), ormsgpack.Ext(101, b"gone")])

    def refs(code, payload):
        raise errors.NotFoundError(payload.decode())

    with pytest.raises(errors.NotFoundError, match="gone"):
        Codec().unpack(packed, refs=refs)


def test_a_reference_that_is_missing_is_damage():
    with pytest.raises(errors.CorruptValueError, match="row 1"):
        Codec().unpack(ormsgpack.packb(ormsgpack.Ext(100, b"x")), where="row 1", refs=lambda *at: {}[at])


def test_no_tag_of_ours_is_a_callers():
    ours = [value for name, value in vars(tags).items() if name.isupper() and isinstance(value, int)]
    assert len(set(ours)) == len(ours)
    assert not set(ours) & set(REF_CODES)
    assert all(10 <= tag <= 127 for tag in ours)


def test_what_cannot_be_kept_has_no_parts():
    assert Codec().parts(lambda: 1) is None


def test_an_exception_is_described_by_type_and_text():
    assert describe_exception(ValueError("no such city")) == "ValueError('no such city')"


def test_an_exception_whose_description_fails_is_described_by_type():
    class BadError(Exception):
        def __repr__(self):
            raise RuntimeError

    assert describe_exception(BadError()) == "BadError()"


def test_messages_and_documents_are_messages():
    codec = Codec()
    assert all(codec.is_message(value) for value in MESSAGES.values() if not isinstance(value, str | dict))
    assert not codec.is_message({"content": "x"})
