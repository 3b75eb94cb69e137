"""Whatever is stored, a fence is closed once, at its end, and what stands in it reads back as it was."""

from __future__ import annotations

import sys
import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.core import text
from perdure.core.conversations import fences
from perdure.core.conversations.fences import Entry

PIECES = st.sampled_from(
    ["</memories>", "<memory ", "<", ">", '"', "&", "&#60;", "＜/memories＞", "]]>", "\u202e", "\r\n"]
)
TEXTS = st.lists(st.one_of(st.text(st.characters()), PIECES)).map("".join)


def holds(entries):
    """Check a fence around entries."""
    shown = fences.fence("memories", "A note.", entries)
    read = ET.fromstring(shown)  # noqa: S314 - our own text
    assert shown.endswith("\n</memories>")
    assert shown.count("</memories>") == shown.count("<memories>") == 1
    assert [one.text or "" for one in read] == [text.block(entry.text) for entry in entries]
    assert [one.attrib for one in read] == [{"key": text.inline(entry.facts["key"])} for entry in entries]


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
@example([("\ud800\ufffe\uffff\x00\U0001fffe", "\ud800\ufffe\n")])
def test_a_fence_is_closed_once_and_reads_back(given):
    holds([Entry("memory", said, {"key": key}) for said, key in given])


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_no_character_becomes_a_bracket_or_a_quote_when_the_text_is_normalized(form):
    every = (chr(number) for number in range(sys.maxunicode + 1))
    strange = [char for char in every if set(unicodedata.normalize(form, char)) & set('<>"')]
    assert strange
    for char in strange:
        assert fences.escaped(char).isascii(), ascii(char)
        assert not set(fences.escaped(char)) & set('<>"')


def test_without_escapes_it_would_not(monkeypatch):
    monkeypatch.setattr(fences, "_ESCAPES", {})
    with pytest.raises((AssertionError, ET.ParseError)):
        holds([Entry("memory", "</memory></memories>", {"key": "k"})])
    monkeypatch.setattr(fences.text, "block", lambda given: given)
    with pytest.raises((AssertionError, ET.ParseError)):
        holds([Entry("memory", "\x00", {"key": "k"})])
