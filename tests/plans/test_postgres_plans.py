"""The hot statements keep their indexes on PostgreSQL, behind row-level security, in a database that is full enough."""

from __future__ import annotations

import re

import psycopg
import pytest
from tests import databases

from perdure.engine import statements

HOT = {
    "thread_get": ("threads_pkey", "tenant thread"),
    "thread_lock": ("threads_pkey", "tenant thread"),
    "thread_show": ("threads_pkey", "tenant thread"),
    "thread_touch": ("threads_(pkey|by_generation)", "tenant"),
    "thread_grow": ("threads_(pkey|by_generation)", "tenant"),
    "latest_get": ("checkpoints_by_seq", "tenant generation ns seq"),
    "latest_writes": ("writes_pkey", "tenant generation seq"),
    "named_get": ("checkpoints_pkey", "tenant id"),
    "named_writes": ("writes_pkey", "tenant generation seq"),
    "write_context": ("checkpoints_pkey", "tenant id"),
    "log_ends": ("entries_pkey", "tenant generation log"),
    "checkpoint_get": ("checkpoints_pkey", "tenant id"),
    "checkpoint_anywhere": ("checkpoints_pkey", "tenant id"),
    "checkpoint_seq": ("checkpoints_pkey", "tenant id"),
    "checkpoint_at": ("checkpoints_by_seq", "tenant generation ns seq"),
    "checkpoint_id": ("checkpoints_by_seq", "tenant generation ns seq"),
    "checkpoint_head": ("checkpoints_by_seq", "tenant generation ns"),
    "checkpoint_head_seq": ("checkpoints_by_seq", "tenant generation ns"),
    "checkpoint_page": ("checkpoints_by_seq", "tenant generation ns seq"),
    "checkpoint_ancestors": ("checkpoints_by_seq", "tenant generation ns seq"),
    "checkpoint_replace": ("checkpoints_by_seq", "tenant generation ns seq"),
    "run_checkpoints": ("checkpoints_by_run", "tenant run"),
    "run_threads": ("checkpoints_by_run", "tenant run"),
    "space_get": ("spaces_by_name", "tenant generation name"),
    "space_name": ("spaces_pkey", "tenant generation ns"),
    "writes_of": ("writes_pkey", "tenant generation seq"),
    "writes_between": ("writes_pkey", "tenant generation seq"),
    "write_get": ("writes_pkey", "tenant generation seq task"),
    "staged_put": ("checkpoints_pkey", "tenant id"),
    "staged_of": ("staged_writes_pkey", "tenant thread ns checkpoint"),
    "staged_expire": ("staged_writes_by_age", "tenant created_at"),
    "entry_range": ("entries_pkey", "tenant generation log pos"),
    "entry_fill": ("entries_pkey", "tenant generation log pos"),
    "log_end": ("logs_pkey", "tenant generation name"),
    "digest_get": ("digests_pkey", "tenant generation digest"),
    "digest_delete": ("digests_pkey", "tenant generation digest"),
    "tags_of": ("thread_tags_pkey", "tenant thread"),
    "thread_page": ("threads_by_update", "tenant updated_at thread"),
    "thread_page_of_subject": ("threads_by_subject", "tenant subject updated_at thread"),
    "item_get": ("items_pkey", "tenant namespace key"),
    "item_delete": ("items_pkey", "tenant namespace key"),
    "item_change": ("items_pkey", "tenant namespace key"),
    "item_lock": ("items_pkey", "tenant namespace key"),
    "item_put": ("item_policies_pkey", "tenant namespace"),
    "version_at": ("item_versions_pkey", "tenant namespace key updated_at"),
    "versions_of": ("item_versions_pkey", "tenant namespace key"),
    "versions_sweep": ("item_versions_by_expiry", "tenant expires_at"),
    "changes_trim": ("item_changes_pkey", "tenant tx n"),
    "items_of": ("items_by_id", "tenant id"),
    "items_candidates": ("items_by_id", "tenant id"),
    "items_matching": ("items_by_id", "tenant id"),
    "items_sweep": ("items_by_expiry", "tenant expires_at"),
    "items_to_shelve": ("items_by_id", "tenant id"),
    "items_living": ("items_by_id", "tenant id"),
    "items_found": ("items_by_id", "tenant id"),
    "item_vectors_of": ("item_vectors_pkey", "tenant item"),
    "item_changes_since": ("item_changes_pkey", "tenant tx"),
    "items_pending": ("items_pending", "tenant id"),
    "item_embedded": ("items_pkey", "tenant namespace key"),
    "item_vector_put": ("items_pkey", "tenant namespace key"),
    "item_vectors_clear": ("item_vectors_pkey", "tenant item number"),
}
"""Name: an index that the plan uses, and the columns by which it is entered."""

SORTED = {
    "checkpoint_ancestors", "checkpoint_anywhere", "entry_range", "items_of", "run_threads",
    "items_candidates", "items_matching",
    "items_to_shelve", "items_living", "items_found", "item_vectors_of", "embeddings_all",
}  # fmt: skip
"""Those that may sort, rows that they have found by an index and return all."""
SORTED |= {"item_get", "item_put", "item_change", "item_delete"}
"""And those that may sort the policies whose prefix a namespace has."""

PAGES = {"thread_page", "thread_page_of_subject"}
"""Those whose limit and filters the planner has to know. The server sees that itself: see their own test."""

ALWAYS = {name for name, (index, _) in HOT.items() if index in {"checkpoints_pkey", "items_pkey"}}
"""Those that use their index before anybody has made statistics, too, and however large one of the threads is."""

CONTROL = {"thread_by_title": "SELECT thread FROM threads WHERE title = 'A title'"}

WHOLE = {"expiring", "tenants", "totals", "row_counts", "unembedded", "vectors_drop", "items_switched", "namespace_"}
"""Parts of names of statements that go over a whole table, or a whole tenant, because that is their task."""

GIVEN = {
    "tenant": "default",
    "thread": "thread-7",
    "target": 99_999_999,
    "generation": 7,
    "id": b"\7" * 16,
    "parent": 5,
    "ids": "[5, 7]",
    "space": "",
    "ns": 0,
    "name": "name-7",
    "subject": "subject-7",
    "status": None,
    "tag": None,
    "title": None,
    "updated_at": 2**62,
    "after": "",
    "run": "run-7",
    "digest": b"\7" * 16,
    "task": b"\7" * 16,
    "checkpoint": b"\7" * 16,
    "payload": b"payload",
    "projection": "{}",
    "value": b"value",
    "namespace": "\x1fnamespace-7\x1f",
    "low": 3,
    "high": 9,
    "key": "key-7",
    "ttl": None,
    "expires_at": None,
    "log": 0,
    "pos": 3,
    "limit": 20,
}
"""Parameters; any other is the number 7."""

OTHERS = {
    "staged_": {"ns": ""},
    "thread_touch": {"ns": ""},
    "named_": {"ns": ""},
    "item": {
        "low": "\x1fnamespace-7\x1f",
        "high": "\x1fnamespace-7\x20",
        "expires_at": 7,
        "fields": "",
        "vector": "{0.5}",
    },
    "vectors_nearest": {
        "low": "\x1fnamespace-7\x1f",
        "high": "\x1fnamespace-7\x20",
        "query": "{0.5}",
    },
    "items": {
        "after": 7,
    },
    "item_changes_since": {"mark": 2**40},
    "embedding_": {"fields": "[]", "state": "active", "middle": "{0.5}"},
    "namespaces_": {"low": "\x1f", "high": "\x20"},
    "namespace_": {
        "low": "\x1fnamespace-7\x1f",
        "high": "\x1fnamespace-7\x20",
        "source": "\x1fnamespace-7\x1f",
        "target": "\x1fnamespace-8\x1f",
    },
    "write_context": {"parent": b"\5" * 16},
    "thread_copy": {"target": "thread-0"},
}
"""Parameters that are of another type in statements whose names begin so."""

SEED = """
INSERT INTO threads (tenant, thread, generation, subject, title, created_at, updated_at)
SELECT CASE WHEN n % 4 = 0 THEN 'other' ELSE 'default' END, 'thread-' || n, n,
    'subject-' || CASE WHEN n % 4 = 1 THEN 7 ELSE n END, 'A title', n, n
FROM generate_series(1, 4000) n;
INSERT INTO thread_tags SELECT tenant, thread, 'tag-' || generation % 5 FROM threads;
INSERT INTO spaces SELECT tenant, generation, n, 'name-' || n FROM threads, generate_series(1, 3) n;
INSERT INTO checkpoints (tenant, generation, ns, seq, id, parent, run, payload)
SELECT tenant, generation, n % 3, n, decode(lpad(to_hex(n), 32, '0'), 'hex'), n - 3, 'run-' || generation || n / 10, 'p'
FROM threads, generate_series(1, CASE WHEN generation = 7 THEN 3000 ELSE 6 END) n;
INSERT INTO writes (tenant, generation, seq, task, payload) SELECT tenant, generation, seq, id, 'p' FROM checkpoints;
INSERT INTO staged_writes SELECT tenant, thread, '', decode(md5(thread), 'hex'), decode(md5(thread), 'hex'), generation,
    updated_at, 'payload' FROM threads;
INSERT INTO logs SELECT tenant, generation, 'name-' || n, n FROM threads, generate_series(0, 3) n;
INSERT INTO entries (tenant, generation, log, pos, payload) SELECT tenant, generation, n % 3, n, 'payload'
FROM threads, generate_series(1, CASE WHEN generation = 7 THEN 3000 ELSE 6 END) n;
INSERT INTO digests (tenant, generation, digest, log, pos)
SELECT tenant, generation, decode(md5(log || ' ' || pos), 'hex'), log, pos FROM entries;
INSERT INTO items (tenant, namespace, key, subject, version, created_at, updated_at, expires_at, projection, value)
SELECT CASE WHEN n % 4 = 0 THEN 'other' ELSE 'default' END, chr(31) || 'namespace-' || n % 500 || chr(31), 'key-' || n,
    'subject-' || n % 50, 1, n, n, CASE WHEN n % 2 = 0 THEN n END, '{}', 'value'
FROM generate_series(1, 20000) n;
UPDATE items SET embedded = NULL WHERE id % 100 = 0;
INSERT INTO item_vectors (tenant, item, number, place, vector) SELECT tenant, id, 7, 0, '{0.5}' FROM items;
INSERT INTO embeddings (tenant, number, model, dims, metric, fields, state, created_at)
SELECT DISTINCT tenant, 7, 'm', 1, 'cosine', '[]', 'active', 1 FROM items;
INSERT INTO embeddings (tenant, number, model, dims, metric, fields, state, created_at)
SELECT 'tenant-' || n, 7, 'm', 1, 'cosine', '[]', 'active', 1 FROM generate_series(1, 1000) n;
INSERT INTO item_versions (
    tenant, namespace, key, subject, version, created_at, updated_at, replaced_at, expires_at, hidden, projection, value
) SELECT tenant, namespace, key, subject, version, created_at, updated_at, updated_at + 9, expires_at, 0, '{}', 'value'
FROM items;
INSERT INTO item_policies (tenant, namespace, ttl, updated_at) SELECT DISTINCT tenant, namespace, 7, 7 FROM items
UNION ALL SELECT 'tenant-' || n, chr(31), 7, 7 FROM generate_series(1, 5000) n;
INSERT INTO item_changes (tenant, namespace, item) SELECT tenant, namespace, id FROM items;
"""


@pytest.fixture(scope="module", params=["before ANALYZE", "after ANALYZE"])
def connection(request, postgres_server, _prepared_databases):
    """A connection of the application's role; the planner may decide by statistics, if somebody has made them."""
    with _prepared_databases.database() as url:
        with psycopg.connect(url, autocommit=True) as owner:
            for (name,) in owner.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
                                         " AND relkind = 'r'").fetchall():  # fmt: skip
                owner.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = off)")
            owner.execute("CREATE EXTENSION vector")
            owner.execute(SEED)
            if request.param == "after ANALYZE":
                owner.execute("VACUUM ANALYZE")
            name = owner.info.dbname
        with psycopg.connect(postgres_server.url(name, user=databases.APPLICATION)) as opened:
            opened.execute("SELECT set_config('perdure.tenant', 'default', false)")
            opened.commit()
            yield opened


@pytest.fixture
def analysed(connection):
    (rows,) = connection.execute("SELECT reltuples FROM pg_class WHERE relname = 'checkpoints'").fetchone()
    connection.rollback()
    return rows >= 0


def plan_of(connection, name, mode):
    """Return the nodes of the plan that a statement gets when it is prepared as the engine prepares it."""
    sql = {**statements.numbered(), **CONTROL}[name]
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql)))
    arrays = set(re.findall(r"%\((\w+)\)s::\w+\[\]", sql))
    values = [given(name, parameter, arrays) for parameter in names]
    numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", sql).replace("%%", "%")
    types = f"({', '.join(type_of(value) for value in values)})" if values else ""
    literals = ", ".join(psycopg.sql.Literal(value).as_string(connection) for value in values)
    try:
        forced = "auto" if mode == "auto" else f"force_{mode}_plan"
        connection.execute(f"SET LOCAL plan_cache_mode = {forced}")
        connection.execute(f"PREPARE looked_at {types} AS {numbered}".encode())
        call = f"EXECUTE looked_at ({literals})" if values else "EXECUTE looked_at"
        for _ in range(8 if mode == "auto" else 0):  # from the sixth time on the server chooses
            connection.execute(call)
        (row,) = connection.execute(f"EXPLAIN (FORMAT JSON) {call}".encode()).fetchall()
    finally:
        connection.rollback()
        connection.execute("DEALLOCATE ALL")
        connection.rollback()
    return list(nodes(row[0][0]["Plan"]))


def given(name, parameter, arrays):
    value = GIVEN.get(parameter, 7)
    for prefix, others in OTHERS.items():
        if name.startswith(prefix):
            value = others.get(parameter, value)
    return [value] * 3 if parameter in arrays else value


def type_of(value):
    if isinstance(value, list):
        return {int: "bigint[]", bytes: "bytea[]"}[type(value[0])]
    return {int: "bigint", bytes: "bytea"}.get(type(value), "unknown")


def nodes(plan):
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


@pytest.fixture(params=["generic", "custom"])
def mode(request):
    """A prepared statement may get one plan for all parameters, or one for those that it is called with."""
    return request.param


@pytest.mark.parametrize("name", sorted(HOT.keys() - PAGES))
def test_a_hot_statement_uses_its_index(connection, analysed, mode, name):
    index, columns = HOT[name]
    found = plan_of(connection, name, mode)
    entered = [node.get("Index Cond", "") for node in found if re.fullmatch(index, node.get("Index Name", ""))]
    if not analysed and name not in ALWAYS:
        assert all(re.search(r"\btenant\b.* AND ", node["Index Cond"]) for node in found if "Index Name" in node)
        return
    assert any(all(re.search(rf"\b{column}\b", said) for column in columns.split()) for said in entered), found


@pytest.mark.parametrize("name", sorted(HOT.keys() - PAGES))
def test_a_hot_statement_scans_nothing_and_sorts_nothing(connection, analysed, mode, name):
    for node in plan_of(connection, name, mode):
        assert node["Node Type"] != "Seq Scan", node
        assert "Sort" not in node["Node Type"] or name in SORTED or not analysed, node


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_of_threads_is_read_in_the_order_of_its_index(connection, analysed, name):
    found = plan_of(connection, name, "custom") if analysed else []
    found += plan_of(connection, name, "auto") if analysed else []
    index, columns = HOT[name]
    for node in found:
        assert "Sort" not in node["Node Type"], node
        if node.get("Relation Name") == "threads":
            assert node["Index Name"] == index
            assert all(re.search(rf"\b{column}\b", node["Index Cond"]) for column in columns.split())
    assert {node["Relation Name"] for node in found if "Relation Name" in node} <= {"threads", "thread_tags"}


@pytest.mark.parametrize("name", sorted(statements.numbered()))
def test_no_statement_scans_a_table_but_the_few_that_must(connection, mode, name):
    if any(part in name for part in WHOLE):
        pytest.skip("it is its task")
    for node in plan_of(connection, name, mode):
        assert node["Node Type"] != "Seq Scan", node


def test_the_control_a_statement_without_an_index_is_seen_to_scan(connection):
    assert any(node["Node Type"] == "Seq Scan" for node in plan_of(connection, "thread_by_title", "custom"))
