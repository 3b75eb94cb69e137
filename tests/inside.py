"""Looking into a memory's database from beside it, whichever engine it has: what the public names don't show."""

from __future__ import annotations

from typing import Any

import psycopg

TABLES = ("threads", "thread_tags", "spaces", "checkpoints", "writes", "staged_writes")
TABLES += ("logs", "entries", "digests", "items")


def rows(memory: Any, sql: str, *given: Any) -> list[tuple[Any, ...]]:
    """Run one statement with `?` for parameters; as the default tenant where the database has a wall."""
    engine = memory.engine
    if engine.kind == "sqlite":
        return engine._connection.execute(sql, given).fetchall()
    with psycopg.connect(engine.server.conninfo, autocommit=True) as connection:
        connection.execute("SELECT set_config('perdure.tenant', 'default', false)")
        connection.execute("SELECT set_config('perdure.operator', 'on', false)")
        cursor = connection.execute(sql.replace("?", "%s"), given)
        return cursor.fetchall() if cursor.description else []


def value(memory: Any, sql: str, *given: Any) -> Any:
    """Return the only value of the only row."""
    ((found,),) = rows(memory, sql, *given)
    return found


def counts(memory: Any) -> dict[str, int]:
    """Return how many rows each table has."""
    return {table: value(memory, f"SELECT count(*) FROM {table}") for table in TABLES}


def refuse_writes(memory: Any, table: str, event: str, when: str = "true") -> None:
    """Make the database refuse some changes of a table, as a full disk would. `when` is about the new row."""
    engine = memory.engine
    if engine.kind == "sqlite":
        engine._connection.execute(
            f"CREATE TEMP TRIGGER refuse BEFORE {event} ON {table} WHEN {when} BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        return
    with psycopg.connect(engine.server.conninfo, user="postgres", autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;"
            f"CREATE TRIGGER refuse BEFORE {event} ON {table} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refuse()"
        )
