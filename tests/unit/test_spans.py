"""Spans behave as the sets of positions they stand for."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from perdure.core import spans

some = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8)


def positions(found):
    return {pos for start, end in found for pos in range(start, end)}


@given(some)
def test_merging_keeps_the_positions_and_leaves_no_two_spans_that_touch(found):
    merged = spans.merge(found)
    assert positions(merged) == positions(found)
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(merged))


@given(some, some)
def test_subtracting_leaves_what_the_others_do_not_have(found, others):
    left = spans.subtract(spans.merge(found), spans.merge(others))
    assert positions(left) == positions(found) - positions(others)
