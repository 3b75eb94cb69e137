"""`perdure setup`, `doctor`, `inspect` and `stats` on PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest
from langchain.agents import create_agent
from psycopg.conninfo import conninfo_to_dict

from perdure import Memory, errors
from perdure.cli.demo_model import StandInModel
from perdure.engine import migrate, roles, statements

NAMES = migrate.names("postgres")
UNREACHABLE = "postgresql://u:secret@127.0.0.1:1/d"


def execute(url, *texts):
    with psycopg.connect(url, autocommit=True) as connection:
        return [connection.execute(text) for text in texts]


def user(url):
    return conninfo_to_dict(url)["user"]


def findings(outcome):
    """Return what the doctor says, by what it looked at."""
    return {line["what"]: line for line in outcome.json["data"]}


def wrong(outcome):
    return {what for what, line in findings(outcome).items() if not line["ok"]}


# Setting up


def test_a_database_is_set_up_once_with_a_role(run, postgres_url, postgres_role):
    role = user(postgres_role(postgres_url))
    first = run("setup", "--db", postgres_url, "--role", role, "--json").data
    assert (first["applied"], first["role"]) == (NAMES, role)
    assert [statement.split()[0] for statement in first["granted"]] == ["GRANT"] * 4
    again = run("setup", "--db", postgres_url, "--role", role)
    assert again.code == 0
    assert again.out.startswith("up to date\nGRANT USAGE ON SCHEMA")
    assert f'\\password "{role}"' in again.out
    assert again.err == ""


def test_a_role_that_is_not_there_is_made(run, postgres_url):
    name = f"{postgres_url.rpartition('/')[2].partition('?')[0]}_made"
    try:
        done = run("setup", "--db", postgres_url, "--role", name)
        assert f'CREATE ROLE "{name}" LOGIN NOSUPERUSER NOBYPASSRLS;' in done.out
    finally:
        execute(postgres_url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def test_a_schema_is_named_by_an_option_or_the_environment(run, postgres_url, monkeypatch):
    assert run("setup", "--db", postgres_url, "--schema", "mine", "--json").data["applied"] == NAMES
    assert run("threads", "ls", "--db", postgres_url, "--schema", "mine", "--json").data == []
    assert run("threads", "ls", "--db", postgres_url, "--json").json["error"]["code"] == "not_set_up"
    monkeypatch.setenv("PERDURE_SCHEMA", "mine")
    assert run("threads", "ls", "--db", postgres_url, "--json").data == []
    assert run("setup", "--db", "sqlite://").code == 0
    assert run("setup", "--db", "sqlite://", "--schema", "mine", "--json").json["error"]["code"] == "configuration"


def test_the_sql_of_a_setup_is_printed_without_a_server(run):
    done = run("setup", "--print", "--db", UNREACHABLE, "--schema", "my place", "--role", "app", "--json")
    parts = {part["name"]: part["sql"] for part in done.data}
    assert list(parts) == ["begin", "schema", *NAMES, "commit", "role"]
    assert 'CREATE SCHEMA IF NOT EXISTS "my place"' in parts["schema"]
    assert 'CREATE ROLE "app"' in parts["role"]
    assert '"my place".threads' in parts["role"]
    assert "ROW LEVEL SECURITY" not in run("setup", "--print").out, "SQLite's, if no database is named"


def test_a_printed_setup_does_what_it_says(run, postgres_url, postgres_role):
    role = postgres_role(postgres_url)
    printed = run("setup", "--print", "--db", postgres_url, "--schema", "mine", "--role", user(role)).out
    execute(postgres_url, printed.replace("CREATE ROLE", "-- CREATE ROLE"))
    assert run("doctor", "--db", role, "--schema", "mine").code == 0


def test_a_role_is_for_postgresql_only(run, tmp_path):
    done = run("setup", "--db", f"sqlite:///{tmp_path}/agent.db", "--role", "app")
    assert done.code == 1
    assert "--db postgresql://" in done.err


def test_a_role_without_rights_is_told_whom_to_ask(run, postgres_url, postgres_role):
    done = run("setup", "--db", postgres_role(postgres_url), "--json")
    assert done.json["error"]["code"] == errors.PrivilegeError.code
    assert "perdure setup --db" in done.json["error"]["message"]


# Counting


@pytest.fixture
def filled(application_url):
    with Memory.open(application_url) as memory:
        agent = create_agent(StandInModel(), checkpointer=memory.checkpointer)
        agent.invoke({"messages": [("user", "hello")]}, {"configurable": {"thread_id": "a"}})
        memory.store.put(("n",), "k", {"x": 1})
        memory.scope(tenant="other").store.put(("n",), "k", {"x": 1})
    return application_url


def test_a_tenant_and_a_thread_are_counted(run, filled):
    total = run("stats", "--db", filled, "--json").data
    assert (total["threads"], total["items"], total["rows"]["checkpoints"]) == (1, 1, 3)
    assert set(total["rows"]) == set(roles.TABLES)
    assert total["database_bytes"] > 100_000
    of_thread = run("stats", "--thread", "a", "--db", filled, "--json").data
    assert (of_thread["checkpoints"], [c["channel"] for c in of_thread["channels"]]) == (3, ["messages"])


def test_a_database_is_inspected(run, filled, prepared_postgres_url):
    execute(prepared_postgres_url, "ANALYZE")
    found = run("inspect", "--db", filled, "--json").data
    assert found["version"].startswith("PostgreSQL ")
    tables = {table["name"]: table for table in found["tables"]}
    assert set(tables) == {*roles.TABLES, "migrations"}
    assert (tables["items"]["tenant_rows"], tables["items"]["estimated_rows"]) == (1, 2)
    for table in tables.values():
        assert table["bytes"] >= table["index_bytes"] + table["overflow_bytes"] > 0
    assert found["bytes"] > sum(table["bytes"] for table in tables.values())
    assert [(m["name"], m["checksum_ok"]) for m in found["migrations"]] == [(name, True) for name in NAMES]
    assert found["pools"]["threads"]["pool_max"] == 10
    assert found["tenant"] == {**found["tenant"], "tenant": "default", "threads": 1, "items": 1}
    spoken = run("inspect", "--db", filled, "--tenant", "other").out
    assert "tenant: other, threads: 0, items: 1" in spoken
    assert "rows, about" in spoken


def test_a_file_is_inspected_too(run, tmp_path):
    url = f"sqlite:///{tmp_path}/agent.db"
    with Memory.open(url) as memory:
        memory.store.put(("n",), "k", {"x": 1})
    found = run("inspect", "--db", url, "--json").data
    tables = {table["name"]: table for table in found["tables"]}
    assert {*roles.TABLES, "migrations", "counters"} == set(tables)
    assert tables["items"]["tenant_rows"] == 1
    assert 0 < tables["items"]["index_bytes"] < tables["items"]["bytes"]
    assert found["bytes"] >= sum(table["bytes"] for table in tables.values())
    assert [m["name"] for m in found["migrations"]] == migrate.names("sqlite")
    assert "0001_threads" in run("inspect", "--db", url).out


# The doctor


def test_the_doctor_finds_nothing_wrong_with_an_application_and_a_new_database(run, application_url):
    done = run("doctor", "--db", application_url, "--json")
    assert (done.code, wrong(done)) == (0, set())
    found = findings(done)
    assert {"server", "driver", "encoding", "fsync", "primary", "connections", "timeouts", "policies"} <= set(found)
    assert f"{len(NAMES)} applied" in found["migrations"]["detail"]
    assert found["extension vector"]["note"]
    assert "note" in run("doctor", "--db", application_url).out


def test_the_doctor_says_that_nothing_is_set_up_and_sets_nothing_up(run, postgres_url, postgres_role):
    role = postgres_role(postgres_url)
    done = run("doctor", "--db", role, "--json")
    assert (done.code, wrong(done)) == (1, {"migrations"})
    assert "perdure setup --db" in findings(done)["migrations"]["detail"]
    assert execute(postgres_url, "SELECT to_regclass('threads')")[0].fetchone() == (None,)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (UNREACHABLE, "check the address"),
        ("postgresql://u:secret@x/y@h/d", "percent-encoded"),
        ("postgresql:///?service=nothing_of_this_name", "nothing_of_this_name"),
    ],
)
def test_the_doctor_says_what_to_do_about_a_server_it_cannot_reach(run, url, says):
    for options in (["--json"], []):
        done = run("doctor", "--db", url, *options)
        assert done.code == 1
        assert says in done.out
        assert "secret" not in done.out + done.err


@pytest.mark.parametrize(
    ("change", "what", "says"),
    [
        ("UPDATE migrations SET checksum = 'x' WHERE name = '0001_threads'", "migrations", "0001_threads"),
        ("DELETE FROM migrations WHERE name = '0003_walls'", "migrations", "missing: 0003_walls"),
        ("INSERT INTO migrations VALUES ('9999_later', '', 0)", "migrations", "9999_later"),
        ("ALTER TABLE items DISABLE ROW LEVEL SECURITY", "wall of items", "ALTER TABLE items ENABLE ROW LEVEL"),
        ("ALTER TABLE items NO FORCE ROW LEVEL SECURITY", "wall of items", "ALTER TABLE items FORCE ROW LEVEL"),
        ("DROP POLICY tenant ON entries", "policies", "tenant of entries"),
        ("CREATE POLICY all_of_it ON items USING (true)", "policies", "all_of_it of items"),
        ("ALTER POLICY tenant ON items USING (true)", "policies", "tenant of items"),
        ("REVOKE UPDATE ON items FROM {role}", "rights", "UPDATE on items"),
        ("REVOKE USAGE ON SEQUENCE generations FROM {role}", "rights", "USAGE on generations"),
        ("REVOKE SELECT ON migrations FROM {role}", "migrations", "--role"),
        ('ALTER TABLE items ALTER key TYPE text COLLATE "default"', "collation", "items"),
        ("ALTER ROLE {role} SET synchronous_commit = off", "synchronous_commit", "ALTER ROLE"),
        ("ALTER ROLE {role} SET default_transaction_read_only = on", "default_transaction_read_only", "RESET"),
        ("ALTER ROLE {role} CONNECTION LIMIT 3", "connections", "max_size"),
        ("ALTER ROLE {role} BYPASSRLS", "role", "BYPASSRLS"),
        ("DROP TABLE digests", "rights", "digests"),
    ],
)
def test_the_doctor_says_what_is_wrong_and_what_to_do(run, postgres_url, postgres_role, change, what, says):
    role = postgres_role(postgres_url)
    assert run("setup", "--db", postgres_url, "--role", user(role)).code == 0
    execute(postgres_url, change.format(role=user(role)))
    done = run("doctor", "--db", role, "--json")
    assert done.code == 1
    assert what in wrong(done)
    assert says in findings(done)[what]["detail"]
    assert "WRONG" in run("doctor", "--db", role).out


def test_the_doctor_says_which_settings_could_lose_what_was_stored(run, private_server):
    server = private_server(settings={"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"})
    assert run("setup", "--db", server.url()).code == 0
    found = findings(run("doctor", "--db", server.url(), "--json"))
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        assert not found[name]["ok"]
        assert f"ALTER SYSTEM SET {name} = 'on'" in found[name]["detail"]
        execute(server.url(), f"ALTER SYSTEM SET {name} = 'on'")
    execute(server.url(), "SELECT pg_reload_conf()", "SELECT pg_sleep(0.3)")
    assert wrong(run("doctor", "--db", server.url(), "--json")) == {"role"}


def test_the_doctor_finds_a_file_that_lacks_migrations_and_applies_none(run, tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/agent.db"
    Memory.open(url).close()
    known = statements.migrations("sqlite")
    monkeypatch.setattr(statements, "migrations", lambda _: (*known, ("9998_new", "CREATE TABLE newer (a);")))
    for _ in range(2):
        done = run("doctor", "--db", url, "--json")
        assert wrong(done) == {"migrations"}
        assert "missing: 9998_new" in findings(done)["migrations"]["detail"]


# Passwords


def test_no_command_shows_a_password(run, private_server):
    server = private_server(tcp=True)
    url = server.url(tcp=True)
    secret = conninfo_to_dict(url)["password"]
    commands = [
        *(["setup"], ["setup", "--role", "app"], ["setup", "--print"], ["doctor"], ["inspect"], ["stats"]),
        *(["threads", "ls"], ["threads", "show", "x"], ["items", "ls"], ["doctor", "--schema", "none"]),
        *(["threads", "ls", "--schema", "none"],),
    ]
    for command in commands:
        for options in ([], ["--json"]):
            done = run(*command, "--db", url, *options)
            assert secret not in done.out + done.err, command
