"""Setting up: once, twice, from several processes at once, and when a migration fails half way."""

from __future__ import annotations

import hashlib

import apsw
import pytest
from tests import support
from tests.engine import processes

from perdure import Memory, errors
from perdure.engine import files, statements


def applied(path):
    connection = apsw.Connection(str(path))
    found = connection.execute("SELECT name, checksum FROM migrations ORDER BY name").fetchall()
    version = connection.pragma("user_version")
    connection.close()
    return found, version


def schema(connection):
    return sorted(connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))


def known():
    return statements.migrations("sqlite")


def recorded():
    return [(name, hashlib.sha256(sql.encode()).hexdigest()) for name, sql in known()], len(known())


@pytest.mark.parametrize("there", ["no file", "an empty file"])
def test_four_processes_set_up_one_file_at_once(tmp_path, there):
    path = tmp_path / "memory.db"
    if there == "an empty file":
        path.touch()
    program = """
say("ready")
hear()
memory = Memory.open(url)
support.put(memory.checkpointer, support.config(rest[0]), {"n": 1})
say(len(memory.engine.applied))
memory.close()
"""
    started = [processes.start(program, f"sqlite:///{path}", str(number)) for number in range(4)]
    for process in started:
        assert process.heard() == "ready"
    for process in started:
        process.tell()
    counts = sorted(int(process.end()) for process in started)
    assert counts == [0, 0, 0, len(known())]
    assert applied(path) == recorded()
    with Memory.open(f"sqlite:///{path}") as memory:
        assert {thread.id for thread in memory.threads.list().threads} == {"0", "1", "2", "3"}


def test_setting_up_twice_changes_nothing(file_url):
    path = file_url.removeprefix("sqlite:///")
    with Memory.open(file_url) as memory:
        support.put(memory.checkpointer, support.config("t"), {"n": 1})
        assert memory.engine.applied == [name for name, _ in known()]
        assert memory.setup() == []
    before = applied(path)
    with Memory.open(file_url) as memory:
        assert memory.engine.applied == memory.setup() == []
        assert support.values_of(memory.checkpointer, support.config("t")) == {"n": 1}
    assert applied(path) == before == recorded()


def test_setting_up_waits_for_a_transaction_that_is_open(file_url):
    holder = processes.start(
        """
db = apsw.Connection(path)
db.pragma("journal_mode", "wal")
db.execute("BEGIN IMMEDIATE")
say("held")
hear()
db.execute("COMMIT")
""",
        file_url,
    )
    assert holder.heard() == "held"
    with pytest.raises(errors.DatabaseLockedError):
        Memory.open(f"{file_url}?timeout=0.2")
    waiter = processes.start('say("opening")\nMemory.open(url + "?timeout=60").close()', file_url)
    assert waiter.heard() == "opening"
    holder.tell()
    holder.end()
    waiter.end()
    assert applied(file_url.removeprefix("sqlite:///")) == recorded()


FAILING = ("9999_failing", "CREATE TABLE half (a); INSERT INTO threads (tenant) VALUES ('x'); CREATE TABLE other (a);")


def test_a_migration_that_fails_half_way_leaves_a_new_file_without_tables(file_url, monkeypatch):
    before = known()
    with monkeypatch.context() as patch:
        patch.setattr(statements, "migrations", lambda _: (*before, FAILING))
        with pytest.raises(errors.DatabaseError):
            Memory.open(file_url)
    connection = apsw.Connection(file_url.removeprefix("sqlite:///"))
    assert schema(connection) == []
    assert connection.pragma("user_version") == connection.pragma("application_id") == 0
    connection.close()
    Memory.open(file_url).close()


def test_a_migration_that_fails_half_way_leaves_an_older_file_as_it_was(file_url, monkeypatch):
    path = file_url.removeprefix("sqlite:///")
    with Memory.open(file_url) as memory:
        support.put(memory.checkpointer, support.config("t"), {"n": 1})
    before, all_known = applied(path), known()
    good = ("9998_good", "CREATE TABLE good (a);")
    with monkeypatch.context() as patch:
        patch.setattr(statements, "migrations", lambda _: (*all_known, good, FAILING))
        with pytest.raises(errors.DatabaseError):
            Memory.open(file_url)
    assert applied(path) == before
    connection = apsw.Connection(path)
    assert not {"half", "other", "good"} & {name for _, name, _ in schema(connection)}
    connection.close()
    with Memory.open(file_url) as memory:
        assert support.values_of(memory.checkpointer, support.config("t")) == {"n": 1}


def test_a_migration_that_is_new_is_applied_alone_and_then_refused_by_an_older_release(file_url, monkeypatch):
    path = file_url.removeprefix("sqlite:///")
    Memory.open(file_url).close()
    all_known = known()
    new = ("9998_new", "CREATE TABLE newer (a);")
    with monkeypatch.context() as patch:
        patch.setattr(statements, "migrations", lambda _: (*all_known, new))
        with Memory.open(file_url) as memory:
            assert memory.engine.applied == ["9998_new"]
        found, version = applied(path)
        assert (found, version) == recorded()
        assert found[-1] == ("9998_new", hashlib.sha256(new[1].encode()).hexdigest())
    with pytest.raises(errors.NewerSchemaError, match="Upgrade"):
        Memory.open(file_url)


def test_the_schema_of_a_database_is_the_sum_of_its_migrations(file_url):
    Memory.open(file_url).close()
    ours, plain = apsw.Connection(file_url.removeprefix("sqlite:///")), apsw.Connection(":memory:")
    for _, sql in known():
        plain.execute(sql)
    assert schema(ours) == schema(plain)
    assert ours.pragma("application_id") == files.APPLICATION_ID
    ours.close()
    plain.close()


def test_migrations_are_numbered_without_gaps():
    assert [name[:4] for name, _ in known()] == [f"{number:04}" for number in range(1, len(known()) + 1)]


def test_every_table_is_strict_and_every_key_begins_with_the_tenant(file_url):
    Memory.open(file_url).close()
    connection = apsw.Connection(file_url.removeprefix("sqlite:///"))
    for _, name, kind, _, _, strict in connection.execute("PRAGMA table_list").fetchall():
        if kind == "table" and not name.startswith("sqlite_") and name not in {"migrations", "counters"}:
            assert strict, name
            for index, unique in connection.execute(
                'SELECT name, "unique" FROM pragma_index_list(?)', (name,)
            ).fetchall():
                first = connection.execute("SELECT name FROM pragma_index_info(?)", (index,)).fetchone()
                assert first == ("tenant",), (index, unique)
    connection.close()
