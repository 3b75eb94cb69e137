"""Setting PostgreSQL up: from several processes at once, beside others' tables, and as a role that may not."""

from __future__ import annotations

import hashlib
import re
import warnings

import apsw
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests import support
from tests.engine import processes

from perdure import Memory, errors
from perdure.engine import migrate, roles, servers, statements

pytestmark = pytest.mark.filterwarnings("ignore::perdure.errors.UnsafeRoleWarning")  # the tests' user is a superuser
ONLY_HERE = {"generations"}
ONLY_SQLITE = {"counters"}
"""The counter of generations: a sequence here, a table there."""


def known():
    return statements.migrations("postgres")


def recorded():
    return [(name, hashlib.sha256(text.encode()).hexdigest()) for name, text in known()]


def applied(url, schema="public"):
    with psycopg.connect(url) as connection:
        query = sql.SQL("SELECT name, checksum FROM {} ORDER BY name").format(sql.Identifier(schema, "migrations"))
        return connection.execute(query).fetchall()


def execute(url, *texts):
    with psycopg.connect(url, autocommit=True) as connection:
        for text in texts:
            connection.execute(text)


def described(connection, schema="public"):
    """Return every column, index, policy and sequence of a schema."""
    columns = "table_name, column_name, data_type, is_nullable, column_default, collation_name, is_identity"
    queries = (
        f"SELECT {columns}, ordinal_position FROM information_schema.columns WHERE table_schema = %s ORDER BY 1, 8",
        "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = %s ORDER BY 1, 2",
        "SELECT tablename, policyname, cmd, qual, with_check FROM pg_policies WHERE schemaname = %s ORDER BY 1, 2",
        "SELECT sequencename, data_type::text FROM pg_sequences WHERE schemaname = %s ORDER BY 1",
    )
    return [connection.execute(query, [schema]).fetchall() for query in queries]


# At once


def test_four_processes_set_up_one_database_at_once(postgres_url):
    program = """
import warnings
warnings.simplefilter("ignore", errors.UnsafeRoleWarning)
say("ready")
hear()
memory = Memory.open(url)
support.put(memory.checkpointer, support.config(rest[0]), {"n": 1})
say(len(memory.engine.applied))
memory.close()
"""
    started = [processes.start(program, postgres_url, str(number)) for number in range(4)]
    for process in started:
        assert process.heard() == "ready"
    for process in started:
        process.tell()
    assert sorted(int(process.end()) for process in started) == [0, 0, 0, len(known())]
    assert applied(postgres_url) == recorded()
    with Memory.open(postgres_url) as memory:
        assert {thread.id for thread in memory.threads.list().threads} == {"0", "1", "2", "3"}


def test_setting_up_twice_changes_nothing(postgres_url):
    with Memory.open(postgres_url) as memory:
        support.put(memory.checkpointer, support.config("t"), {"n": 1})
        assert memory.engine.applied == migrate.names("postgres")
        assert memory.setup() == []
    with Memory.open(postgres_url, create=False) as memory:
        assert memory.engine.applied == memory.setup() == []
        assert support.values_of(memory.checkpointer, support.config("t")) == {"n": 1}
    assert applied(postgres_url) == recorded()


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "SERIALIZABLE"])
def test_setting_up_waits_for_no_transaction_of_others(postgres_url, isolation):
    """The stock saver's indexes are built concurrently, and wait for every transaction that is open."""
    with psycopg.connect(postgres_url) as other:
        other.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        other.execute("CREATE TABLE theirs (a int)")
        other.execute("SELECT pg_current_xact_id(), count(*) FROM pg_class")
        with Memory.open(postgres_url) as memory:
            assert memory.engine.applied == migrate.names("postgres")
            support.put(memory.checkpointer, support.config("t"), {"n": 1})
    assert applied(postgres_url) == recorded()


def test_setting_up_is_no_part_of_the_transaction_it_is_called_in(postgres_url):
    with psycopg.connect(postgres_url) as users_own:
        users_own.execute("CREATE TABLE theirs (a int)")
        Memory.open(postgres_url).close()
        users_own.rollback()
    assert applied(postgres_url) == recorded()


def test_setting_up_gives_up_on_a_lock_that_somebody_keeps(postgres_url, monkeypatch):
    monkeypatch.setattr(servers, "_PATIENTLY", "SELECT set_config('lock_timeout', '200ms', true)")
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [servers._LOCK])
        with pytest.raises(errors.DatabaseLockedError):
            Memory.open(postgres_url)
    Memory.open(postgres_url).close()


# Half way, newer, older

FAILING = ("9999_failing", "CREATE TABLE half (a int); CREATE TABLE threads (a int);")


def test_a_migration_that_fails_half_way_leaves_nothing(postgres_url, monkeypatch):
    before = known()
    with monkeypatch.context() as patch:
        patch.setattr(statements, "migrations", lambda _: (*before, FAILING))
        with pytest.raises(errors.DatabaseError):
            Memory.open(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        assert described(connection) == [[], [], [], []]
    Memory.open(postgres_url).close()


def test_a_migration_that_is_new_is_applied_alone_and_then_refused_by_an_older_release(postgres_url, monkeypatch):
    Memory.open(postgres_url).close()
    new, all_known = ("9998_new", "CREATE TABLE newer (a int);"), known()
    with monkeypatch.context() as patch:
        patch.setattr(statements, "migrations", lambda _: (*all_known, new))
        with Memory.open(postgres_url) as memory:
            assert memory.engine.applied == ["9998_new"]
        assert applied(postgres_url) == recorded()
    with pytest.raises(errors.NewerSchemaError, match="Upgrade"):
        Memory.open(postgres_url)


def test_an_empty_database_is_not_set_up_unasked(postgres_url):
    with pytest.raises(errors.NotSetUpError, match="perdure setup --db"):
        Memory.open(postgres_url, create=False)
    with pytest.raises(errors.NotSetUpError, match="--schema mine"):
        Memory.open(postgres_url, create=False, schema="mine")
    with psycopg.connect(postgres_url) as connection:
        assert described(connection) == [[], [], [], []]


# Beside others

STOCK = """
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.postgres import PostgresStore
with PostgresSaver.from_conn_string(url) as saver, PostgresStore.from_conn_string(url) as store:
    saver.setup()
    store.setup()
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    saver.put(config, support.checkpoint({"n": 1}), support.metadata(), {"n": 1})
    store.put(("n",), "k", {"x": 1})
    say("done")
"""


@pytest.fixture
def stock_url(postgres_url):
    """A database in which LangGraph's own saver and store live."""
    assert processes.run(STOCK, postgres_url) == "done"
    return postgres_url


def test_the_tables_of_stock_savers_are_refused_and_left_alone(stock_url):
    with psycopg.connect(stock_url) as connection:
        before = described(connection)
        for create in (True, False):
            with pytest.raises(errors.ForeignDatabaseError, match="schema='perdure'"):
                Memory.open(stock_url, create=create)
        assert described(connection) == before
        assert connection.execute("SELECT count(*) FROM checkpoints").fetchone() == (1,)


def test_a_schema_of_its_own_lives_beside_stock_savers(stock_url):
    with psycopg.connect(stock_url) as connection:
        before = described(connection)
        with Memory.open(stock_url, schema='Per"dure') as memory:
            support.put(memory.checkpointer, support.config("t"), {"n": 2})
            assert support.values_of(memory.checkpointer, support.config("t")) == {"n": 2}
        assert described(connection) == before
        assert len(described(connection, 'Per"dure')[1]) > len(roles.TABLES)
    assert applied(stock_url, 'Per"dure') == recorded()
    assert processes.run(STOCK, stock_url) == "done"


@pytest.mark.parametrize(
    "table",
    [
        "threads (id int)",
        "items (id int)",
        "migrations (id int)",
        "migrations (name text, checksum text, applied_at bigint)",
    ],
)
def test_a_table_of_another_program_is_refused_and_left_alone(postgres_url, table):
    execute(postgres_url, f"CREATE TABLE {table}")
    with psycopg.connect(postgres_url) as connection:
        before = described(connection)
        with pytest.raises(errors.ForeignDatabaseError, match=table.split()[0]):
            Memory.open(postgres_url)
        assert described(connection) == before


def test_the_migrations_of_another_program_are_not_taken_for_newer_ones(postgres_url):
    execute(postgres_url, "CREATE TABLE migrations (name text, checksum text, applied_at bigint)")
    execute(postgres_url, "INSERT INTO migrations VALUES ('0001_users', '', 0)")
    with pytest.raises(errors.ForeignDatabaseError):
        Memory.open(postgres_url)


def test_a_database_without_a_schema_to_make_tables_in_says_so(postgres_url):
    execute(postgres_url, "DROP SCHEMA public")
    with pytest.raises(errors.ConfigurationError, match="schema='perdure'"):
        Memory.open(postgres_url)
    Memory.open(postgres_url, schema="perdure").close()


# As a role of the application


@pytest.mark.parametrize("schema", [None, "mine"])
def test_the_application_opens_what_is_up_to_date_and_is_told_what_is_missing(
    postgres_url, postgres_role, monkeypatch, schema
):
    application = postgres_role(postgres_url)
    name = conninfo_to_dict(application)["user"]
    with pytest.raises(errors.PrivilegeError, match=r"may not set it up.*perdure setup --db"):
        Memory.open(application, schema=schema)
    Memory.open(postgres_url, schema=schema).close()
    with pytest.raises(errors.PrivilegeError, match=rf"perdure setup --db .* --role {name}"):
        Memory.open(application, schema=schema)
    servers.Server(postgres_url, schema, {}).make_role(name)
    with warnings.catch_warnings(action="error"), Memory.open(application, schema=schema) as memory:
        support.put(memory.checkpointer, support.config("t"), {"n": 1})
        assert memory.setup() == []
    all_known = known()
    monkeypatch.setattr(statements, "migrations", lambda _: (*all_known, ("9998_new", "ALTER TABLE items ADD x int;")))
    with pytest.raises(errors.PrivilegeError, match=r"missing \(9998_new\).*perdure setup --db"):
        Memory.open(application, schema=schema)
    assert applied(postgres_url, schema or "public") == [
        (name, hashlib.sha256(text.encode()).hexdigest()) for name, text in all_known
    ]


def test_a_role_is_made_once_and_needs_who_may_make_roles(postgres_url, postgres_role):
    owner = postgres_role(postgres_url)
    execute(postgres_url, f"GRANT CREATE ON SCHEMA public TO {conninfo_to_dict(owner)['user']}")
    Memory.open(owner).close()
    name = f"{conninfo_to_dict(owner)['user']}_app"
    with pytest.raises(errors.PrivilegeError, match="CREATEROLE"):
        servers.Server(owner, None, {}).make_role(name)
    execute(postgres_url, f"CREATE ROLE {name} LOGIN")
    try:
        done = servers.Server(owner, None, {}).make_role(name)
        assert [statement.split()[0] for statement in done] == ["GRANT"] * 4
        assert servers.Server(owner, None, {}).make_role(name) == done
    finally:
        execute(postgres_url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def test_a_role_that_the_walls_would_not_hold_gets_nothing(prepared_postgres_url):
    admin = conninfo_to_dict(prepared_postgres_url)["user"]
    with pytest.raises(errors.UnsafeRoleError, match="superuser"):
        servers.Server(prepared_postgres_url, None, {}).make_role(admin)


@pytest.mark.parametrize("name", ["", "x" * 64, "a\0b"])
def test_a_name_that_cannot_be_is_refused(prepared_postgres_url, name):
    with pytest.raises(errors.ConfigurationError, match="1 to 63 bytes"):
        servers.Server(prepared_postgres_url, None, {}).make_role(name)
    with pytest.raises(errors.ConfigurationError, match="1 to 63 bytes"):
        Memory.open(prepared_postgres_url, schema=name)


# The schema


def test_the_schema_of_a_database_is_the_sum_of_its_migrations(prepared_postgres_url, postgres_url):
    with psycopg.connect(postgres_url) as plain, psycopg.connect(prepared_postgres_url) as ours:
        for _, text in known():
            plain.execute(text)
        assert described(ours) == described(plain)


def test_the_printed_sql_sets_up_what_perdure_would(prepared_postgres_url, postgres_url):
    execute(postgres_url, "".join(text for _, text in migrate.script("postgres", None)))
    execute(postgres_url, "".join(text for _, text in migrate.script("postgres", "other place")))
    with psycopg.connect(postgres_url) as printed, psycopg.connect(prepared_postgres_url) as ours:
        assert described(printed) == described(ours)
    for schema in (None, "other place"):
        with Memory.open(postgres_url, schema=schema, create=False) as memory:
            assert memory.engine.applied == []
            assert all(found.right for found in memory.engine.check() if found.what != "role")


def test_migrations_are_numbered_without_gaps():
    assert [name[:4] for name, _ in known()] == [f"{number:04}" for number in range(1, len(known()) + 1)]


def test_every_key_begins_with_the_tenant(prepared_postgres_url):
    with psycopg.connect(prepared_postgres_url) as connection:
        found = connection.execute(
            "SELECT c.relname, i.relname, a.attname FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid "
            "JOIN pg_class i ON i.oid = x.indexrelid "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[0] "
            "WHERE c.relnamespace = 'public'::regnamespace AND c.relname <> 'migrations'"
        ).fetchall()
        keyless = connection.execute(
            "SELECT relname FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND NOT "
            "EXISTS (SELECT FROM pg_index x WHERE x.indrelid = c.oid AND x.indisprimary)"
        ).fetchall()
    assert {table for table, _, _ in found} == set(roles.TABLES)
    assert [row for row in found if row[2] != "tenant"] == []
    assert keyless == []


def test_both_engines_have_the_same_tables_and_columns(prepared_postgres_url, file_url):
    Memory.open(file_url).close()
    file = apsw.Connection(file_url.removeprefix("sqlite:///"))
    theirs = {
        table: {(name, not required and not key) for name, required, key in columns_of(file, table)}
        for (table,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        if not table.startswith("sqlite_")
    }
    file.close()
    theirs["item_changes"].add(("tx", False))  # SQLite's transactions end in the order they begin
    ours = {}
    with psycopg.connect(prepared_postgres_url) as connection:
        for table, column, _, nullable, *_ in described(connection)[0]:
            ours.setdefault(table, set()).add((column, nullable == "YES"))
        sequences = {name for name, _ in described(connection)[3]}
    assert {table: columns for table, columns in theirs.items() if table not in ONLY_SQLITE} == ours
    assert sequences == {*ONLY_HERE, "items_id_seq", "item_changes_n_seq", "item_versions_n_seq"}


def columns_of(file, table):
    return file.execute('SELECT name, "notnull", pk FROM pragma_table_info(?)', (table,)).fetchall()


def test_both_engines_have_the_same_indexes(prepared_postgres_url, file_url):
    """But for the keys: SQLite's tables with rows in order have an index for it, PostgreSQL's a primary key."""
    Memory.open(file_url).close()
    file = apsw.Connection(file_url.removeprefix("sqlite:///"))
    texts = [text for (text,) in file.execute("SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")]
    file.close()
    keys = {"checkpoints_by_id", "entries_by_place", "items_by_key", "item_vectors_by_place", "item_versions_by_time"}
    theirs = {re.search(r"INDEX (\w+)", text)[1]: re.search(r"\((.*?)\)", text)[1] for text in texts}
    with psycopg.connect(prepared_postgres_url) as connection:
        ours = {
            name: re.search(r"\((.*?)\)", text)[1]
            for _, name, text in described(connection)[1]
            if not name.endswith("_pkey")
        }
    assert ours.pop("items_by_id") == "tenant, id"
    assert ours.pop("item_versions_by_number") == "tenant, n"
    assert {name: columns for name, columns in theirs.items() if name not in keys} == ours
