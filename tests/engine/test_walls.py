"""The walls between tenants that PostgreSQL itself keeps: they hold should a statement ever forget its tenant."""

from __future__ import annotations

import contextlib
import warnings

import psycopg
import pytest
from psycopg import sql

from perdure import Memory, errors
from perdure.engine import roles

TENANTS = ("acme", "globex")
SAMPLES = {"text": "x", "bigint": 7, "integer": 7, "bytea": b"\x01", "ARRAY": [0.5]}


@pytest.fixture
def owned(postgres_url, postgres_role):
    """The URLs of a database whose tables belong to a plain role: of the administrator, of the owner, of another."""
    owner = postgres_role(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = psycopg.conninfo.conninfo_to_dict(owner)["user"]
        connection.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(sql.Identifier(name)))
    with pytest.warns(errors.UnsafeRoleWarning, match="owns the tables"):
        Memory.open(owner).close()
    other = postgres_role(postgres_url)
    with psycopg.connect(owner) as connection:
        for statement in roles.grants(psycopg.conninfo.conninfo_to_dict(other)["user"], None, is_there=True):
            connection.execute(statement)
    seed(postgres_url)
    return {"administrator": postgres_url, "owner": owner, "application": other}


def columns(connection, table):
    """Return the columns that a row has to name, with their types."""
    return connection.execute(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s AND is_nullable = 'NO' "
        "AND column_default IS NULL AND is_identity = 'NO' ORDER BY ordinal_position",
        [table],
    ).fetchall()


def insert(connection, table, tenant):
    named = columns(connection, table)
    values = [tenant if name == "tenant" else SAMPLES[kind] for name, kind in named]
    names = sql.SQL(", ").join(sql.Identifier(name) for name, _ in named)
    places = sql.SQL(", ").join(sql.Placeholder() * len(named))
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table), names, places)
    connection.execute(statement, values)


def seed(url):
    """Give each table a row of each of two tenants."""
    with psycopg.connect(url) as connection:
        for table in roles.TABLES:
            for tenant in TENANTS:
                insert(connection, table, tenant)


@contextlib.contextmanager
def standing(url, tenant=None, operator=False):
    """Open a transaction of a tenant, which changes nothing."""
    with psycopg.connect(url) as connection:
        if tenant is not None:
            connection.execute("SELECT set_config('perdure.tenant', %s, true)", [tenant])
        if operator:
            connection.execute("SELECT set_config('perdure.operator', 'on', true)")
        yield connection
        connection.rollback()


def seen(url, tenant=None, operator=False):
    """Return the tenants whose rows are seen, by table."""
    with standing(url, tenant, operator) as connection:
        return {
            table: {name for (name,) in connection.execute(f"SELECT tenant FROM {table}").fetchall()}
            for table in roles.TABLES
        }


def everywhere(*tenants):
    return {table: set(tenants) for table in roles.TABLES}


@pytest.mark.parametrize("who", ["application", "owner"])
def test_a_statement_that_forgets_its_tenant_sees_the_rows_of_its_transaction_only(owned, who):
    assert seen(owned[who]) == everywhere()
    assert seen(owned[who], "") == everywhere()
    assert seen(owned[who], "nobody") == everywhere()
    assert seen(owned[who], "acme") == everywhere("acme")
    assert seen(owned[who], "globex") == everywhere("globex")
    assert seen(owned["administrator"]) == everywhere(*TENANTS), "the control: the rows are there"


@pytest.mark.parametrize("who", ["application", "owner"])
@pytest.mark.parametrize("table", roles.TABLES)
def test_no_row_is_written_taken_or_removed_behind_another_tenant(owned, who, table):
    changes = [
        lambda connection: insert(connection, table, "initech"),
        lambda connection: connection.execute(f"UPDATE {table} SET tenant = 'initech'"),
    ]
    for tenant in ("acme", None):
        for change in changes[: 2 if tenant else 1]:
            with standing(owned[who], tenant) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
                change(connection)
    with standing(owned[who], "acme") as connection:
        assert connection.execute(f"UPDATE {table} SET tenant = tenant WHERE tenant <> 'acme'").rowcount == 0
        assert connection.execute(f"DELETE FROM {table}").rowcount >= 1
    with standing(owned["administrator"], "acme") as connection:
        insert(connection, "threads", "initech")
        if table != "threads":
            insert(connection, table, "initech")
        assert connection.execute(f"SELECT 1 FROM {table}").rowcount >= 3, "the control: nothing else was in the way"


def test_the_walls_are_what_keeps_a_statement_back(owned):
    with psycopg.connect(owned["administrator"]) as connection:
        for table in roles.TABLES:
            connection.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    assert seen(owned["application"], "acme") == everywhere(*TENANTS)


def test_force_is_what_holds_the_owner(owned):
    with psycopg.connect(owned["administrator"]) as connection:
        for table in roles.TABLES:
            connection.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    assert seen(owned["owner"], "acme") == everywhere(*TENANTS)
    assert seen(owned["application"], "acme") == everywhere("acme")


def test_an_operator_may_look_at_threads_and_items_of_all_and_change_none(owned):
    looked_at = {"threads", "items", "item_versions"}
    assert seen(owned["application"], operator=True) == {
        table: set(TENANTS) if table in looked_at else set() for table in roles.TABLES
    }
    for table in roles.TABLES:
        with standing(owned["application"], operator=True) as connection:
            assert connection.execute(f"DELETE FROM {table}").rowcount == 0
            assert connection.execute(f"UPDATE {table} SET tenant = tenant").rowcount == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                insert(connection, table, "initech")


def test_the_application_can_neither_empty_a_table_nor_take_a_wall_down(owned):
    for statement in (
        "TRUNCATE threads CASCADE",
        "ALTER TABLE items DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant ON items",
        "CREATE POLICY mine ON items USING (true)",
        "DROP TABLE entries",
        "DELETE FROM migrations",
    ):
        with standing(owned["application"], "acme") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)


def test_every_table_but_the_migrations_has_its_wall(prepared_postgres_url):
    with psycopg.connect(prepared_postgres_url) as connection:
        found = connection.execute(
            "SELECT relname, relrowsecurity AND relforcerowsecurity, "
            "EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'tenant' AND p.polcmd = '*') "
            "FROM pg_class c WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
        ).fetchall()
    assert {name for name, is_forced, has_policy in found if is_forced and has_policy} == set(roles.TABLES)
    assert {name for name, *_ in found} == {*roles.TABLES, "migrations"}


# What opening says of a role


def altered(url, role, change):
    name = psycopg.conninfo.conninfo_to_dict(role)["user"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER ROLE {} {}").format(sql.Identifier(name), sql.SQL(change)))


def test_a_superuser_is_warned_of_where_memory_is_opened(prepared_postgres_url):
    with pytest.warns(errors.UnsafeRoleWarning, match=r"is a superuser.*perdure setup .*--role NAME") as caught:
        Memory.open(prepared_postgres_url).close()
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.raises(errors.UnsafeRoleError, match=r"is a superuser.*perdure setup"):
        Memory.open(prepared_postgres_url, tenants="required")


def test_a_role_that_bypasses_the_walls_is_warned_of(owned):
    altered(owned["administrator"], owned["application"], "BYPASSRLS")
    with pytest.warns(errors.UnsafeRoleWarning, match="has BYPASSRLS"):
        Memory.open(owned["application"]).close()
    with pytest.raises(errors.UnsafeRoleError, match="has BYPASSRLS"):
        Memory.open(owned["application"], tenants="required")


def test_the_owner_of_the_tables_is_warned_of(owned):
    with pytest.raises(errors.UnsafeRoleError, match="owns the tables"):
        Memory.open(owned["owner"], tenants="required")


def test_the_role_of_an_application_is_silent(owned):
    with warnings.catch_warnings(action="error"), Memory.open(owned["application"], tenants="required") as memory:
        acme = memory.scope(tenant="acme")
        acme.store.put(("n",), "k", {"x": 1})
        assert acme.store.get(("n",), "k").value == {"x": 1}
        assert memory.scope(tenant="globex").store.get(("n",), "k") is None
