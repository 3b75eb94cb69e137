"""Messages written and read by other versions of langchain-core than this process's."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from tests.unit.codec.sameness import same

from perdure.core.codec import Codec, langchain


def test_a_message_is_rebuilt_with_the_fields_it_was_given():
    codec = Codec()
    message = HumanMessage("hi", name=None)
    assert codec.unpack(codec.pack(message)).model_fields_set == {"content", "name"}


def test_a_message_is_rebuilt_without_validation():
    codec = Codec()
    message = HumanMessage.model_construct(content=3, type="human")
    assert codec.unpack(codec.pack(message)).content == 3


def test_rebuilt_messages_share_no_defaults():
    codec = Codec()
    packed = codec.pack(AIMessage("x"))
    first, second = codec.unpack(packed), codec.unpack(packed)
    first.tool_calls.append(1)
    first.response_metadata["a"] = 1
    assert second.tool_calls == []
    assert second.response_metadata == {}


def test_a_rebuilt_message_can_be_used_like_any_other():
    codec = Codec()
    message = codec.unpack(codec.pack(AIMessage("x", id="1")))
    assert message.model_copy(update={"id": "2"}).id == "2"
    assert message.pretty_repr()
    message.hobby = 1  # langchain's messages take more fields
    assert same(codec.unpack(codec.pack(message)), message)


def test_a_field_that_this_version_does_not_know_is_kept_by_name():
    codec = Codec()
    message = ToolMessage("x", tool_call_id="1")
    message.__dict__["mood"] = ("new", 1)
    message.__pydantic_fields_set__.add("mood")
    again = codec.unpack(codec.pack(message))
    assert again.mood == ("new", 1)
    assert "mood" in again.model_fields_set
    assert codec.pack(codec.unpack(codec.pack(again))) == codec.pack(again)


def test_a_field_that_the_writer_did_not_know_gets_its_default():
    older = langchain._Layout(AIMessage, ("content", "id", "type"))
    message = AIMessage("x", id="1")
    known = {name: message.__dict__[name] for name in older.bits}
    packed = older.take(_like(message, known))
    newer = langchain._Layout(AIMessage, langchain._AI)
    assert same(newer.make(packed), message)


def _like(message, fields):
    other = message.model_copy()
    object.__setattr__(other, "__dict__", fields)
    return other


@pytest.mark.parametrize("cls", [HumanMessage, AIMessage, ToolMessage])
def test_a_message_of_a_users_subclass_keeps_its_class(cls):
    class Mine(cls):
        mood: str = "fine"

    codec = Codec()
    message = Mine("x", tool_call_id="1", mood="bad") if cls is ToolMessage else Mine("x", mood="bad")
    assert same(codec.unpack(codec.pack(message)), message)
    assert codec.is_message(message)
    assert codec.parts(message) is None
