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
            "DROP TABLE items; ALTER TABLE threads DROP COLUMN revision;"
            "DELETE FROM migrations WHERE name >= '0002'; PRAGMA user_version = 1"
        )
    with Memory.open(file_url) as memory:
        assert "0002_items" in memory.engine.applied
        memory.store.put(("f",), "k", {"n": 2})
        assert memory.store.get(("f",), "k").value == {"n": 2}
        assert memory.checkpointer.get_tuple(config).checkpoint["id"] == checkpoint["id"]
        assert memory.setup() == []
