"""The proxy that the fault tests stand on does what it says, seen with the driver alone."""

import time

import psycopg
import pytest
from tests.faults.proxies import Proxy


@pytest.fixture
def proxy(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE rows (number int)")
    with Proxy(postgres_url) as proxy:
        yield proxy


def numbers(url):
    with psycopg.connect(url) as connection:
        return [number for (number,) in connection.execute("SELECT number FROM rows ORDER BY 1")]


def simple(connection):
    connection.pgconn.exec_(b"BEGIN; INSERT INTO rows VALUES (1); COMMIT")
    if connection.closed:
        raise psycopg.OperationalError


def one_by_one(connection):
    with connection.transaction():
        connection.execute("INSERT INTO rows VALUES (1)")


def in_a_pipeline(connection):
    with connection.pipeline():  # connection.transaction() would wait for the server where it begins and ends
        connection.execute("BEGIN")
        connection.execute("INSERT INTO rows VALUES (%s)", [1])
        connection.execute("COMMIT")


def prepared(connection):
    for statement in ("BEGIN", "INSERT INTO rows VALUES (1)", "COMMIT"):
        connection.execute(statement, prepare=True)


WAYS = pytest.mark.parametrize("way", [simple, one_by_one, in_a_pipeline, prepared])


@WAYS
def test_after_a_lost_answer_the_row_is_there_and_the_client_has_an_error(way, proxy, postgres_url):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        connection.execute("SELECT 1")
        proxy.lose_commits()
        with pytest.raises(psycopg.OperationalError):
            way(connection)
        assert connection.closed
    assert (numbers(postgres_url), proxy.lost) == ([1], 1)
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        way(connection)
    assert (numbers(postgres_url), proxy.lost) == ([1, 1], 1)


@WAYS
def test_without_the_fault_the_same_way_gets_through(way, proxy, postgres_url):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        way(connection)
    assert (numbers(postgres_url), proxy.lost) == ([1], 0)


def test_a_rollback_and_a_row_that_holds_the_word_are_no_commits(proxy, postgres_url):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        proxy.lose_commits()
        assert connection.execute("SELECT 'COMMIT', 'x' AS commit").fetchone() == ("COMMIT", "x")
        with connection.transaction(force_rollback=True):
            connection.execute("INSERT INTO rows VALUES (1)")
        with connection.cursor().copy("COPY rows FROM STDIN") as copy:
            copy.write_row([2])
    assert (numbers(postgres_url), proxy.lost) == ([2], 0)


def test_the_answer_to_a_command_that_commits_by_itself_can_be_lost(proxy, postgres_url):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        proxy.lose_commits(tag=b"INSERT")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("INSERT INTO rows VALUES (1)")
    assert numbers(postgres_url) == [1]


def test_round_trips_are_counted(proxy):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        with proxy.round_trips() as piped:
            in_a_pipeline(connection)
        with proxy.round_trips() as single:
            one_by_one(connection)
        with proxy.round_trips() as none:
            pass
    assert (piped.number, single.number, none.number) == (1, 3, 0)


def test_cut_connections_are_noticed_and_new_ones_get_through(proxy, postgres_url):
    with psycopg.connect(proxy.url) as connection, psycopg.connect(proxy.url) as other:
        connection.execute("INSERT INTO rows VALUES (1)")
        assert proxy.cut() == 2
        for cut in (connection, other):
            with pytest.raises(psycopg.OperationalError):
                cut.execute("SELECT 1")
    assert proxy.cut() == 0
    assert numbers(proxy.url) == []


def test_a_delay_is_added_to_each_direction(proxy):
    with psycopg.connect(proxy.url, autocommit=True) as connection:
        proxy.delay = 50
        begun = time.monotonic()
        in_a_pipeline(connection)
        assert 0.1 <= time.monotonic() - begun < 0.25
        begun = time.monotonic()
        one_by_one(connection)
        assert time.monotonic() - begun >= 0.3


def test_large_rows_and_passwords_get_through_over_tcp(private_server):
    server = private_server(tcp=True)
    with Proxy(server.url(tcp=True)) as proxy, psycopg.connect(proxy.url) as connection:
        text = "x" * 3_000_000
        assert connection.execute("SELECT %s", [text]).fetchone() == (text,)


def test_a_server_that_does_not_run_refuses_through_the_proxy_too(private_server):
    server = private_server()
    with Proxy(server.url()) as proxy:
        server.stop()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(proxy.url)
        server.start()
        assert psycopg.connect(proxy.url).close() is None
