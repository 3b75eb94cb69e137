"""The servers and databases that the other tests stand on keep their promises."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import psutil
import psycopg
import pytest
from tests import databases, servers

HOLDER = """
import signal, sys, time
from pathlib import Path
from tests import servers
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background has it ignored
server = servers.Server(Path(sys.argv[1]))
server.start()
print(server.pids()[0], server.url(), flush=True)
time.sleep(600)
"""


def value(url, query, *given):
    with psycopg.connect(url, connect_timeout=5) as connection:
        return connection.execute(query, given).fetchone()[0]


def wait_until(done):
    end = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def server(private_server):
    return private_server(tcp=True)


def alive(pids):
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("server_encoding", "UTF8"),
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
    ],
)
def test_a_new_database_is_set_as_it_would_be_in_production(postgres_url, setting, wanted):
    assert value(postgres_url, f"SHOW {setting}") == wanted


def test_a_new_database_compares_text_by_code_point_and_knows_unicode(postgres_url):
    assert value(postgres_url, "SELECT datcollate FROM pg_database WHERE datname = current_database()") == "C.UTF-8"
    assert value(postgres_url, "SELECT upper('é') || lower('Ж')") == "Éж"
    assert value(postgres_url, "SELECT array_agg(t ORDER BY t) FROM unnest(ARRAY['b', 'a', 'Z', '～', '😀']) AS t") == [
        *("Z", "a", "b", "～", "😀")
    ]


def test_vectors_can_be_stored(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        assert connection.execute("SELECT '[1,2]'::vector <-> '[1,4]'::vector").fetchone() == (2.0,)


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_every_test_gets_an_empty_database_of_its_own(postgres_url, turn):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (turn int); CREATE SCHEMA other; CREATE TABLE other.kept ()")
        connection.execute("CREATE EXTENSION vector; CREATE TABLE vectors (v vector)")
        if turn == 2:
            connection.execute("SELECT lo_create(1)")


def test_an_emptied_database_cannot_be_told_from_a_new_one(postgres_server):
    fresh = databases.Fresh(postgres_server, "template0")
    with contextlib.closing(fresh), contextlib.closing(databases.Washed(fresh, postgres_server)) as washed:
        found = []
        for _ in range(2):
            with washed.database() as url:
                query = "SELECT current_database(), nspname, nspacl, nspowner FROM pg_namespace ORDER BY 2"
                with psycopg.connect(url) as connection:
                    found.append(connection.execute(query).fetchall())
                    connection.execute("CREATE TABLE kept (turn int); CREATE EXTENSION vector; CREATE SCHEMA other")
        assert found[0] == found[1]


def test_a_database_is_gone_after_its_test(postgres_server):
    fresh = databases.Fresh(postgres_server, "template0")
    with fresh.database() as url:
        name = value(url, "SELECT current_database()")
        left_open = psycopg.connect(url)
    fresh.close()
    assert value(postgres_server.url(), "SELECT count(*) FROM pg_database WHERE datname = %s", name) == 0
    left_open.close()


def seeded(url):
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kinds (name text PRIMARY KEY, size int)")
        connection.execute("ALTER TABLE kinds ADD twice int GENERATED ALWAYS AS (size * 2) STORED")
        connection.execute("INSERT INTO kinds VALUES ('a', 1), ('b', NULL), ('', 3)")
        connection.execute("CREATE TABLE things (id int GENERATED ALWAYS AS IDENTITY, kind text REFERENCES kinds)")
        connection.execute("CREATE INDEX thing_kinds ON things (kind)")


@pytest.fixture
def washed(postgres_server):
    with databases.prepared(postgres_server, seeded) as template:
        fresh = databases.Fresh(postgres_server, template)
        with contextlib.closing(fresh), contextlib.closing(databases.Washed(fresh, postgres_server)) as found:
            yield found


def used(washed, *statements):
    with washed.database() as url:
        left_open = psycopg.connect(url, autocommit=True)
        for statement in ("BEGIN", *statements):
            left_open.execute(statement)
        name, kinds = left_open.info.dbname, left_open.execute("SELECT * FROM kinds ORDER BY 1").fetchall()
        things = left_open.execute("INSERT INTO things (kind) VALUES ('a') RETURNING id").fetchall()
        left_open.execute("COMMIT; BEGIN; LOCK things")
    left_open.close()
    return name, kinds, things


def test_a_washed_database_has_the_rows_and_sequences_of_its_template(washed):
    first = used(washed)
    spoiled = used(washed, "INSERT INTO things (kind) VALUES ('b')", "UPDATE kinds SET size = 9")
    assert spoiled[0] == first[0]
    assert used(washed) == first
    assert first[1:] == ([("", 3, 6), ("a", 1, 2), ("b", None, None)], [(1,)])


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE more ()",
        "DROP INDEX thing_kinds",
        "ALTER TABLE things ENABLE ROW LEVEL SECURITY",
        "GRANT SELECT ON things TO pg_monitor",
        "CREATE SCHEMA other",
        "ALTER TABLE things ALTER kind SET DEFAULT 'b'",
        "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET work_mem = 1024'; END $$",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "SELECT lo_create(0)",
        "CREATE EXTENSION vector",
    ],
)
def test_a_database_whose_catalog_has_changed_is_not_used_again(washed, change):
    first = used(washed)
    again = used(washed, change)
    assert again[0] == first[0]
    assert used(washed)[0] != first[0]


def test_row_level_security_binds_the_role_for_tests(postgres_url, postgres_role):
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE rows (tenant text); ALTER TABLE rows ENABLE ROW LEVEL SECURITY")
        owner.execute("INSERT INTO rows VALUES ('a'), ('b')")
        owner.execute("CREATE POLICY own ON rows USING (tenant = 'a'); GRANT SELECT ON rows TO PUBLIC")
    assert value(postgres_url, "SELECT count(*) FROM rows") == 2
    assert value(postgres_role(postgres_url), "SELECT count(*) FROM rows") == 1


def test_the_url_of_a_server_elsewhere_keeps_all_but_what_is_asked_for():
    place = databases.Elsewhere("postgresql://me:secret@db.example:5433/postgres?sslmode=disable")
    assert place.url() == "postgresql://me:secret@db.example:5433/postgres?sslmode=disable"
    assert place.url("x") == "postgresql://me:secret@db.example:5433/x?sslmode=disable"
    assert place.url("x", user="you", password="a/b") == "postgresql://you:a%2Fb@db.example:5433/x?sslmode=disable"  # noqa: S106
    assert databases.Elsewhere("postgresql:///postgres?host=%2Ftmp").url("x") == "postgresql:///x?host=%2Ftmp"


def test_a_restarted_server_has_the_same_urls_and_what_was_committed(server):
    urls = [server.url(), server.url(tcp=True)]
    with psycopg.connect(urls[1]) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    for mode in ("fast", "immediate"):
        server.restart(mode)
        assert [server.url(), server.url(tcp=True)] == urls
        assert [value(url, "SELECT number FROM kept") for url in urls] == [7, 7]


def test_a_killed_server_recovers_what_was_committed(server):
    with psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("BEGIN; INSERT INTO kept VALUES (8)")
        before = server.pids()
        server.kill()
        assert (server.pids(), alive(before), server.is_running()) == ([], [], False)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("COMMIT")
    server.start()
    assert value(server.url(), "SELECT array_agg(number) FROM kept") == [7]


def test_a_frozen_server_answers_nobody_until_it_is_thawed(server):
    with psycopg.connect(server.url(), autocommit=True) as connection:
        server.freeze()
        assert server.is_running()
        connection.pgconn.send_query(b"SELECT 1")
        time.sleep(0.2)
        connection.pgconn.consume_input()
        assert connection.pgconn.is_busy()
        server.thaw()
        assert connection.pgconn.get_result().get_value(0, 0) == b"1"
        assert connection.pgconn.get_result() is None


def test_over_tcp_a_password_is_asked_for(server):
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(server.url(tcp=True, password="wrong"))  # noqa: S106


@pytest.mark.parametrize("state", ["running", "frozen", "stopped", "killed"])
def test_a_closed_server_leaves_nothing_behind(state, private_server):
    server = private_server()
    pids = server.pids()
    places = [server.folder, server.data, servers.HOME.parent / server._facts["socket"]]
    {"running": lambda: None, "frozen": server.freeze, "stopped": server.stop, "killed": server.kill}[state]()
    server.close()
    assert alive(pids) == []
    assert [place for place in places if place.exists()] == []


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_server_ends_with_the_last_process_that_uses_it(ending):
    folder = servers.HOME / f"own-{os.getpid()}-{ending.name}"
    command = [sys.executable, "-c", HOLDER, str(folder)]
    holders = [
        subprocess.Popen(command, cwd=servers.ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(2)
    ]
    lines = [holder.stdout.readline().split() for holder in holders]
    assert lines[0] == lines[1]
    pid, url = int(lines[0][0]), lines[0][1]
    for left, holder in ((True, holders[0]), (False, holders[1])):
        holder.send_signal(ending)
        holder.communicate(timeout=60)
        if left:
            assert value(url, "SELECT 1") == 1
    wait_until(lambda: not folder.exists())
    assert alive([pid]) == []


def test_what_a_crashed_run_and_its_watcher_left_is_swept_up():
    folder = servers.HOME / f"own-{os.getpid()}-left"
    server = servers.Server(folder)
    server.start()
    pids = server.pids()
    words = [servers.__file__, str(folder)]
    (watcher,) = [p for p in psutil.process_iter(["cmdline"]) if (p.info["cmdline"] or [])[-2:] == words]
    watcher.kill()
    servers.sweep()
    assert alive(pids) == pids, "it is still in use"
    os.close(server._lock)
    servers.sweep()
    assert (alive(pids), folder.exists()) == ([], False)
