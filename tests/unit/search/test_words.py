"""A text is found by its words, in any script, and nothing in it is a command."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.core.search import words

HOSTILE = ["NEAR(", '"', "*", "col:", "a AND", "\ud800", "\x00", "", "a\ud83d b", "NOT (a OR", "-", "\\", "'", "😀"]
ROWS_OF_MARKS = "a" + "\u3099\u094d\u0323" * 33_000
SPACED = st.text(st.characters(codec="utf-8", max_codepoint=0x05FF))


@pytest.mark.parametrize("text", HOSTILE)
def test_syntax_of_other_query_languages_is_only_text(text):
    assert all(term.isalnum() for term in words.terms(text))
    assert set(words.query(text)) <= set(words.terms(text))


@given(st.text(st.characters(), max_size=200))
@example("ﷺ½ǅİß")
@example("\u1100\u1161\u11a8 \u304b\u3099")
def test_any_text_has_terms_of_bounded_length_without_spaces(text):
    found = words.terms(text)
    assert all(0 < len(term) <= 64 and not any(map(str.isspace, term)) for term in found)
    assert set(words.query(text)) <= set(found)


@given(SPACED, SPACED)
def test_terms_of_two_texts_are_the_terms_of_both(one, other):
    assert words.terms(f"{one} {other}") == words.terms(one) + words.terms(other)


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_a_plain_text_has_the_same_terms_beside_another_script(text):
    assert words.terms(f"{text} ж") == [*words.terms(text), "ж"]


@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=60))
def test_a_text_in_parts_and_composed_has_the_same_letters(text):
    composed = unicodedata.normalize("NFC", text)
    taken_apart = unicodedata.normalize("NFD", composed)
    if unicodedata.normalize("NFC", taken_apart) == composed and not _has_signs(text):
        assert words.terms(taken_apart) == words.terms(composed)


def test_every_character_that_can_be_written_in_parts_has_the_same_terms_in_parts():
    for point in range(0x80, 0x12000):
        composed = chr(point)
        taken_apart = unicodedata.normalize("NFD", composed)
        if taken_apart != composed == unicodedata.normalize("NFC", composed):
            assert words.terms(taken_apart) == words.terms(composed), hex(point)


def _has_signs(text):
    return any(unicodedata.category(c).startswith("M") and not "\u0300" <= c <= "\u036f" for c in text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "CAFE"),
        ("１２３", "123"),
        ("Straße", "STRASSE"),
        ("ﾊﾞﾅﾅ", "バナナ"),
        ("한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"),
        ("İstanbul", "istanbul"),
        ("сёла", "села"),
        ("مُحَمَّد", "محمد"),
        ("favourite_color", "favourite color"),
        ("ada@example.com", "ada example com"),
    ],
)
def test_case_width_accents_and_punctuation_do_not_matter(one, other):
    assert words.terms(one) == words.terms(other) != []


@pytest.mark.parametrize(
    "family",
    [
        "paint paints painted painting",
        "stop stops stopped stopping",
        "hike hikes hiked hiking",
        "party parties",
        "try tries tried trying",
        "dress dresses dressed",
        "church churches",
        "agree agrees agreeing",
        "slow slowly",
        "use uses used using",
        "die dies died",
        "go going",
        "day days",
        "sky skies",
    ],
)
def test_inflections_of_an_english_word_meet(family):
    assert len(set(words.terms(family))) == 1


@pytest.mark.parametrize("strangers", ["need seed feed", "sing king thing", "bus bust", "red read", "mission missing"])
def test_other_words_stay_apart(strangers):
    assert len(set(words.terms(strangers))) == len(strangers.split())


@pytest.mark.parametrize("name", ["Ada", "42", "k8s", "utf8", "v1s"])
def test_short_words_and_numbers_stay_as_they_are(name):
    assert words.terms(name) == [name.lower()]


def test_a_word_of_two_characters_is_found_inside_a_sentence():
    sentence = words.terms("我每天早上喝一杯咖啡。")
    assert set(words.query("咖啡")) <= set(sentence)
    assert set(words.query("喝")) <= set(sentence)
    assert "茶" not in sentence


def test_signs_of_vowels_stay_in_the_word():
    assert words.terms("हिन्दी") == ["हिन्दी"]


def test_languages_may_be_mixed_in_one_word():
    assert words.terms("用Python写") == ["用", "python", "写"]


def test_a_query_leaves_out_what_only_holds_a_question_together():
    assert words.query("When did the sisters go to Berlin?") == words.terms("sisters go Berlin")
    assert words.query("我的咖啡在哪里？") == ["咖", "啡", "的咖", "咖啡", "啡在"]


@pytest.mark.parametrize("text", ["Who am I?", "to be or not to be", "什么"])
def test_a_query_of_nothing_else_keeps_them(text):
    assert words.query(text) == list(dict.fromkeys(words.terms(text)))


def test_a_query_has_each_term_once_and_at_most_64():
    assert words.query("tea Tea teas") == ["tea"]
    assert words.query(" ".join(f"w{n}" for n in range(100))) == [f"w{n}" for n in range(64)]


def test_a_word_without_end_is_cut():
    assert [len(term) for term in words.terms("A" * 150)] == [64, 64, 22]


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "猫" * 100_000, ROWS_OF_MARKS, "\u1100\u1161" * 50_000, "a猫" * 50_000]
)
def test_a_long_text_takes_time_in_proportion(text):
    begun = time.process_time()
    words.terms(text)
    words.query(text)
    assert time.process_time() - begun < 3
