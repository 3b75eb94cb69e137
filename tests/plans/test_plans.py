"""The hot statements keep their indexes, on tables that are full enough for a scan to hurt."""

from __future__ import annotations

import re

import pytest
from tests import support

from perdure import Memory
from perdure.engine import statements

HOT = {
    "thread_get": "PRIMARY KEY (tenant=? AND thread=?)",
    "thread_touch": "threads",  # by its name or its generation
    "log_ends": "entries_by_place (tenant=? AND generation=? AND log=?)",
    "checkpoint_get": "checkpoints_by_id (tenant=? AND generation=? AND ns=? AND id=?)",
    "checkpoint_seq": "checkpoints_by_id (tenant=? AND generation=? AND ns=? AND id=?)",
    "checkpoint_id": "checkpoints_by_seq (tenant=? AND generation=? AND ns=? AND seq=?)",
    "checkpoint_head": "checkpoints_by_seq (tenant=? AND generation=? AND ns=?)",
    "checkpoint_head_seq": "checkpoints_by_seq (tenant=? AND generation=? AND ns=?)",
    "checkpoint_page": "checkpoints_by_seq (tenant=? AND generation=? AND ns=? AND seq<?)",
    "checkpoint_ancestors": "checkpoints_by_seq (tenant=? AND generation=? AND ns=? AND seq=?)",
    "run_checkpoints": "checkpoints_by_run (tenant=? AND run=?)",
    "space_get": "spaces_by_name (tenant=? AND generation=? AND name=?)",
    "writes_between": "PRIMARY KEY (tenant=? AND generation=? AND seq>? AND seq<?)",
    "write_get": "PRIMARY KEY (tenant=? AND generation=? AND seq=? AND task=?)",
    "staged_of": "PRIMARY KEY (tenant=? AND thread=? AND ns=? AND checkpoint=?)",
    "staged_expire": "staged_writes_by_age (tenant=? AND created_at<?)",
    "entry_range": "entries_by_place (tenant=? AND generation=? AND log=? AND pos>? AND pos<?)",
    "log_end": "PRIMARY KEY (tenant=? AND generation=? AND name=?)",
    "digest_get": "PRIMARY KEY (tenant=? AND generation=? AND digest=?)",
    "thread_page": "threads_by_update (tenant=? AND (updated_at,thread)<(?,?))",
    "thread_page_of_subject": "threads_by_subject (tenant=? AND subject=? AND (updated_at,thread)<(?,?))",
    "item_get": "items_by_key (tenant=? AND namespace=? AND key=?)",
    "items_get": "items_by_key (tenant=? AND namespace=? AND key=?)",
    "item_delete": "items_by_key (tenant=? AND namespace=? AND key=?)",
    "item_embedded": "items_by_key (tenant=? AND namespace=? AND key=?)",
    "item_vector_put": "items_by_key (tenant=? AND namespace=? AND key=?)",
    "item_vectors_clear": "item_vectors_by_place (tenant=? AND item=? AND number=?)",
    "item_changes_since": "PRIMARY KEY (tenant=? AND n>?)",
    "items_pending": "items_pending (tenant=? AND id>?)",
    "embeddings_all": "PRIMARY KEY (tenant=?)",
}
"""Name: what the plan must say. PRIMARY KEY: of a table that is stored in its order."""

SORTED = {"checkpoint_ancestors"}
"""Those that may sort, a bounded number of rows."""
LOOSE = {"chain", "CONSTANT ROW", "j"}
"""What may be scanned: rows that the statement itself has made."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with Memory.open(f"sqlite:///{tmp_path_factory.mktemp('plans')}/memory.db") as memory:
        saver = memory.checkpointer
        for number in range(30):
            where = support.config(f"t{number}", subject_id=f"s{number % 5}")
            for step in range(6):
                where = support.put(saver, where, {"text": "x" * 200 + str(step), "n": step}, run_id=f"r{number}")
                saver.put_writes(where, [("text", "y" * 200)], support.task())
            support.put(saver, support.config(f"t{number}", ns="sub"), {"n": number})
        for number in range(200):
            memory.store.put(("items", str(number % 7)), str(number), {"n": number}, ttl=5)
        yield memory.engine


class _Anything(dict):
    def __missing__(self, key):
        return 1


def plan_of(engine, name):
    rows = engine._connection.execute(f"EXPLAIN QUERY PLAN {engine._sql[name]}", _Anything()).fetchall()
    return [row[3] for row in rows]


@pytest.fixture(params=["before ANALYZE", "after ANALYZE"])
def analysed(engine, request):
    """The planner may decide by statistics, if somebody has made them."""
    if request.param == "after ANALYZE":
        engine._connection.execute("ANALYZE")
        yield
        engine._connection.execute("DROP TABLE sqlite_stat1; DROP TABLE IF EXISTS sqlite_stat4; ANALYZE sqlite_schema")
    else:
        yield


@pytest.mark.parametrize("name", sorted(HOT))
def test_a_hot_statement_uses_its_index(engine, analysed, name):
    plan = plan_of(engine, name)
    assert any(HOT[name] in step for step in plan), plan


@pytest.mark.parametrize("name", sorted(HOT))
def test_a_hot_statement_scans_no_table_and_sorts_nothing(engine, analysed, name):
    for step in plan_of(engine, name):
        scanned = re.match(r"SCAN (\S+( ROW)?)", step)
        assert not scanned or scanned[1] in LOOSE, step
        assert "TEMP B-TREE" not in step or name in SORTED, step
        assert "AUTOMATIC" not in step


WHOLE = {"expiring", "tenants", "totals", "quick_check", "unembedded", "vectors_drop", "items_switched"}
"""Parts of names of statements that go over a whole table, or a whole tenant, because that is their task."""


@pytest.mark.parametrize("name", sorted(statements.load("sqlite")))
def test_no_statement_reads_a_whole_table_but_the_few_that_must(engine, name):
    if any(part in name for part in WHOLE):
        pytest.skip("it is its task")
    for step in plan_of(engine, name):
        scanned = re.match(r"SCAN (\w+)(?!.*VIRTUAL TABLE)", step)
        assert not scanned or scanned[1] not in TABLES, step


TABLES = {
    "threads", "thread_tags", "spaces", "checkpoints", "writes", "staged_writes", "logs", "entries", "digests", "items",
    "embeddings", "item_vectors", "item_changes", "v",
    "c", "e", "i", "t", "w", "g", "l",
}  # fmt: skip
