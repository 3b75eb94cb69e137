"""Pipelines: what is prepared stays so through errors, and large batches in both directions come through."""

from __future__ import annotations

import psycopg
import pytest

from perdure import errors
from perdure.engine import pipelines
from perdure.engine.links import BlockingConnection


@pytest.fixture
def exchange(postgres_url):
    """Send a batch on a connection that prepares what comes a second time."""
    with BlockingConnection.connect(postgres_url, autocommit=True, prepare_threshold=1) as connection:

        def run(*batch):
            pipeline = connection.pipeline_of()
            return [answer.rows for answer in pipeline.answers(connection.wait(pipeline.exchange(list(batch))))]

        yield run


def test_a_parameter_may_be_of_another_type_each_time(exchange):
    for value, wanted in [("a", "a"), (None, None), ("b", "b"), (None, None)] * 3:
        assert exchange(("SELECT coalesce(%(v)s, NULL)::text", {"v": value})) == [[(wanted,)]]
    for number in (1, None, 2**40, None, -5) * 3:
        assert exchange(("SELECT %(v)s::bigint", {"v": number})) == [[(number,)]]


def test_an_error_in_the_middle_leaves_what_was_prepared_and_what_was_not(exchange):
    def good(n):
        return f"SELECT %(n)s::bigint + {n}", {"n": n}

    for _ in range(4):
        with pytest.raises(psycopg.errors.DivisionByZero):
            exchange(good(1), ("SELECT 1 / %(n)s::bigint", {"n": 0}), good(2), good(3))
        assert exchange(good(2), good(1)) == [[(4,)], [(2,)]]


def test_more_statements_than_are_prepared_all_run(exchange):
    batch = [(f"SELECT {n} + %(n)s::bigint", {"n": n}) for n in range(pipelines._MOST_PREPARED + 50)]
    for _ in range(3):
        assert exchange(*batch) == [[(2 * n,)] for n in range(len(batch))]


def test_much_in_both_directions_at_once_comes_through(exchange):
    load = bytes(100_000)
    batch = [("SELECT %(load)s::bytea", {"load": load})] * 500
    assert exchange(*batch) == [[(load,)]] * 500
    (rows,) = exchange(("SELECT generate_series(1, %(n)s::bigint)", {"n": 100_000}))
    assert len(rows) == 100_000


def test_a_text_with_a_nul_is_refused_before_anything_is_sent(exchange):
    with pytest.raises(errors.UnsupportedValueError, match="NUL"):
        exchange(("SELECT 1", {}), ("SELECT %(v)s::text", {"v": "a\0b"}))
    assert exchange(("SELECT 2", {})) == [[(2,)]]
