"""What an item is worth: BM25 counted by hand, cosines seen from the middle, lists merged by rank."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.search import ranks

texts = st.lists(st.lists(st.sampled_from("abcdef"), max_size=12), min_size=1, max_size=12)
living = st.lists(st.booleans(), min_size=12, max_size=12)
queries = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5, unique=True)
scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=30)


def segment(rows):
    """Return the postings of each term of a segment, and the lengths of its rows."""
    held = {term: [(row, text.count(term)) for row, text in enumerate(rows) if term in text] for term in "abcdefg"}
    postings = {
        term: ranks.Posting(*np.array(places, dtype=np.int32).T) if places else None for term, places in held.items()
    }
    return postings, np.array([len(text) for text in rows], dtype=np.float32)


def by_hand(rows, alive, query):
    """Return BM25 of each living row as Robertson and Zaragoza write it, with k1 = 0.9 and b = 0.4."""
    kept = [Counter(text) for text, lives in zip(rows, alive, strict=False) if lives]
    mean = max(sum(sum(text.values()) for text in kept) / len(kept), 1) if kept else 1
    held = {term: sum(term in text for text in kept) for term in query}
    idf = {term: math.log(1 + (len(kept) - n + 0.5) / (n + 0.5)) for term, n in held.items()}
    return [
        sum(idf[t] * text[t] * 1.9 / (text[t] + 0.9 * (0.6 + 0.4 * sum(text.values()) / mean)) for t in query)
        for text in kept
    ]


def scored(segments, query):
    """Return BM25 of the living rows of several segments, with the statistics of all."""
    parts = [(*segment(rows), alive) for rows, alive in segments]
    total = sum(int(alive.sum()) for _, _, alive in parts)
    mean = sum(float(lengths[alive].sum()) for _, lengths, alive in parts) / max(total, 1)
    holding = [sum(ranks.holders(p[t], alive) for p, _, alive in parts if p[t]) for t in query]
    weights = ranks.rarity(holding, total)
    return [
        one
        for postings, lengths, alive in parts
        for one in ranks.relevance([postings[t] for t in query], weights, lengths, alive, mean)[alive]
    ]


@given(texts, living, queries)
def test_bm25_is_what_one_counts_by_hand(rows, alive, query):
    flags = np.array(alive[: len(rows)])
    assert scored([(rows, flags)], query) == pytest.approx(by_hand(rows, flags, query))


@given(texts, living, queries, st.integers(0, 12))
def test_bm25_is_the_same_however_rows_are_parted(rows, alive, query, cut):
    flags = np.array(alive[: len(rows)])
    parted = scored([(rows[:cut], flags[:cut]), (rows[cut:], flags[cut:])], query)
    assert parted == pytest.approx(by_hand(rows, flags, query))


@given(texts, living, queries)
def test_dead_rows_score_nothing_and_change_nothing(rows, alive, query):
    flags = np.array(alive[: len(rows)])
    kept = [text for text, lives in zip(rows, flags, strict=True) if lives]
    assert scored([(rows, flags)], query) == scored([(kept, np.ones(len(kept), dtype=bool))], query)
    postings, lengths = segment(rows)
    found = ranks.relevance([postings[t] for t in query], np.ones(len(query)), lengths, flags, 1.0)
    assert not found[~flags].any()


def test_a_rare_term_weighs_more_than_one_all_rows_hold():
    rare, common = ranks.rarity([1, 10], 10)
    assert rare > common > 0


def test_a_share_is_1_for_a_row_that_says_it_all_and_less_if_something_is_said_nowhere():
    postings, lengths = segment([["a", "b"], ["c", "d"]])
    alive = np.ones(2, dtype=bool)
    weights = ranks.rarity([1, 1, 0], 2)
    said = ranks.relevance([postings["a"], postings["b"], None], weights, lengths, alive, 2.0)
    assert ranks.share(said, weights[:2]) == pytest.approx([1, 0])
    assert ranks.share(said, weights) == pytest.approx([weights[:2].sum() / weights.sum(), 0])


def test_a_share_of_nothing_asked_is_0():
    assert ranks.share(np.zeros(3), np.zeros(0)).tolist() == [0, 0, 0]


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_closeness_is_the_cosine_seen_from_the_middle(count, seed):
    random = np.random.default_rng(seed)
    vectors = unit(random.normal(size=(count, 8)) + 2)
    wanted = unit(random.normal(size=8) + 2)
    middle = ranks.centre(vectors.sum(axis=0), count)
    expected = unit(vectors - middle) @ unit(wanted - middle)
    assert close(vectors, wanted, middle, np.zeros(8)) == pytest.approx(np.maximum(expected, 0))


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_closeness_does_not_look_along_the_axis(count, seed):
    random = np.random.default_rng(seed)
    vectors, wanted = unit(random.normal(size=(count, 8)) + 2), unit(random.normal(size=8) + 2)
    axis, middle = unit(random.normal(size=8)), ranks.centre(vectors.sum(axis=0), count)
    flat = np.eye(8) - np.outer(axis, axis)
    expected = unit((vectors - middle) @ flat) @ unit((wanted - middle) @ flat)
    assert close(vectors, wanted, middle, axis) == pytest.approx(np.maximum(expected, 0))


def close(vectors, wanted, middle, axis):
    wanted, middle = ranks.without(wanted, axis), ranks.without(middle, axis)
    return ranks.closeness(*(ranks.products(vectors, to) for to in (wanted, middle, axis)), wanted, middle)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_rows_that_all_say_the_same_have_a_closeness(count):
    vector = np.full(4, 0.5, dtype=np.float32)
    vectors = np.tile(vector, (count, 1))
    middle = ranks.centre(vectors.sum(axis=0), count, prior=vector)
    found = close(vectors, vector, middle, np.zeros(4))
    assert found.shape == (count,)
    assert ((found >= 0) & (found <= 1)).all()


def test_the_middle_of_few_rows_is_near_the_embedders_own():
    row, own = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert ranks.centre(row, 1, own) == pytest.approx([1 / 17, 16 / 17])
    assert ranks.centre(row * 1584, 1584, own) == pytest.approx([0.99, 0.01])
    assert ranks.centre(np.zeros(2), 0) == pytest.approx([0, 0])


def test_a_middle_is_no_view_of_what_it_was_made_of():
    total = np.zeros(2)
    ranks.centre(total, 1, np.ones(2))
    assert total.tolist() == [0, 0]


def test_a_row_without_a_vector_is_worth_what_its_words_are():
    worth = ranks.blend(np.array([0.5, 0.5, 0.0]), np.array([np.nan, 1.0, 0.5]))
    assert worth == pytest.approx([0.5, 0.8, 0.3])


def test_fusing_adds_reciprocal_ranks():
    fused = ranks.reciprocals([["a", "b", "c"], ["c", "b"]])
    assert fused == pytest.approx({"a": 1 / 2, "b": 11 / 12, "c": (11 / 13 + 1) / 2})
    assert ranks.reciprocals([["a"], ["a"]]) == pytest.approx({"a": 1})
    assert ranks.reciprocals([]) == {}


@given(st.lists(st.lists(st.integers(0, 9), unique=True), max_size=4))
def test_fusing_loses_none_and_keeps_the_order_of_equals(lists):
    fused = ranks.reciprocals(lists)
    met = list(dict.fromkeys(one for ranked in lists for one in ranked))
    assert list(fused) == met
    assert all(0 < value <= 1 for value in fused.values())
    if len(lists) == 1:
        assert sorted(fused, key=lambda one: -fused[one]) == lists[0]


@given(scores, st.integers(0, 31), st.sampled_from([-math.inf, 0.25, 2.0]))
def test_the_top_is_the_beginning_of_the_whole_order(values, most, floor):
    ordered = sorted((row for row, value in enumerate(values) if value >= floor), key=lambda row: -values[row])
    assert ranks.top(np.array(values), most, floor).tolist() == ordered[:most]
