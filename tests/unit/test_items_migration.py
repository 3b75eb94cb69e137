"""A database from before items takes them in, and keeps what it has."""

from __future__ import annotations

from langgraph.checkpoint.base import empty_checkpoint

from perdure import Memory


def test_a_database_without_items_gets_them_and_keeps_its_threads(file_url):
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    checkpoint = empty_checkpoint()
    with Memory.open(file_url) as memory:
        memory.checkpointer.put(config, checkpoint, {"source": "input", "step": -1}, {})
        memory.engine._connection.execute(
            "DROP TABLE items; DROP TABLE embeddings; DROP TABLE item_vectors; DROP TABLE item_changes;"
            "DROP TABLE item_versions; DROP TABLE item_policies; ALTER TABLE threads DROP COLUMN revision;"
            "DELETE FROM migrations WHERE name >= '0002'; PRAGMA user_version = 1"
        )
    with Memory.open(file_url) as memory:
        assert "0002_items" in memory.engine.applied
        memory.store.put(("f",), "k", {"n": 2})
        assert memory.store.get(("f",), "k").value == {"n": 2}
        assert memory.checkpointer.get_tuple(config).checkpoint["id"] == checkpoint["id"]
        assert memory.setup() == []


def test_items_from_before_search_are_kept_and_wait_for_no_vectors(file_url):
    with Memory.open(file_url) as memory:
        memory.store.put(("f",), "k", {"n": 2}, ttl=60)
        before = memory.store.get(("f",), "k", refresh_ttl=False)
        memory.engine._connection.execute(
            "".join(
                f"DROP TRIGGER items_{name};"
                for name in ("replaced", "inserted", "updated", "moved", "rewritten", "deleted")
            )
            + "DROP TABLE embeddings; DROP TABLE item_vectors; DROP TABLE item_changes; DROP TABLE item_versions;"
            "DROP TABLE item_policies; DROP INDEX items_pending; DROP INDEX items_by_update;"
            + "".join(f"ALTER TABLE items DROP COLUMN {name};" for name in ("hidden", "embedded", "fields", "about"))
            + "DELETE FROM migrations WHERE name >= '0004'; PRAGMA user_version = 3"
        )
    with Memory.open(file_url) as memory:
        assert memory.engine.applied == ["0004_search"]
        after = memory.store.get(("f",), "k", refresh_ttl=False)
        assert (after, after.expires_at, after.version) == (before, before.expires_at, before.version)
        assert memory.engine._connection.execute("SELECT embedded FROM items").fetchall() == [(-1,)]
