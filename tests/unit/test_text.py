"""What was stored can neither hide in what is shown nor act in a terminal."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core import text

HIDDEN = {
    "zero width": "\u200b\u200c\u200d\u2060\ufeff",
    "bidirectional": "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    "tags": "".join(map(chr, range(0xE0000, 0xE0080))),
    "variation selectors": "\ufe00\ufe0e\U000e0100\U000e01ef",
    "kept for more of them": "\u2065\ufff0\ufff8",
    "fillers": "\u115f\u1160\u3164\uffa0\u034f\u00ad",
    "control": "\x00\x07\x08\x1b\x7f\x9b",
    "surrogates": "\ud800\udfff",
    "line ends of other kinds": "\r\u2028\u2029\x85",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_can_not_be_seen_is_escaped(name):
    for char in HIDDEN[name]:
        for shown in (text.inline(f"a{char}b"), text.block(f"a{char}b")):
            assert shown.isascii()
            assert shown.startswith("a\\")
            assert shown.endswith("b")


def test_ordinary_text_of_any_language_stays_as_it_is():
    said = "Ünïcödé, 中文（标点）, עברית, ไทย, emoji ❤️ 🎉, \\ and ~"
    assert text.inline(said) == said


def test_line_ends_are_kept_in_a_block_and_escaped_on_a_line():
    assert text.block("a\n\tb") == "a\n\tb"
    assert text.inline("a\n\tb") == r"a\n\tb"


@given(st.text())
def test_json_means_the_same_and_shows_everything(said):
    shown = text.json_safe(json.dumps({"said": said}, ensure_ascii=False))
    assert json.loads(shown) == {"said": said}
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
