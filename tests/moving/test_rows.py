"""Odd rows: old tables, other serializers, clocks that went back, and values that would run code."""

import json
import pickle
import subprocess
import sys

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from tests.moving import graphs
from tests.support import checkpoint

from perdure import Memory, errors
from perdure.core.codec import Opaque
from perdure.moving import OpaqueCodec, StockSource, StockTarget, connections
from perdure.moving.connections import SqliteConnection
from perdure.moving.outgoing import Outgoing

ROW = (
    "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, "
    "metadata) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
WRITE = "INSERT INTO writes (thread_id, checkpoint_id, task_id, idx, channel, type, value) VALUES (?, ?, ?, ?, ?, ?, ?)"
ITEM = "INSERT INTO store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes) VALUES (?,?,?,?,?,?,?)"


def put(connection, thread, name, values=None, parent=None, **fields):
    made = checkpoint(values or {"x": name}, id=name, **fields)
    row = (thread, "", name, parent, "msgpack", Outgoing().pack(made), json.dumps({"step": 1, "writes": {"a": 1}}))
    connection.many(ROW, [row])


def write(connection, thread, name, kind, value):
    connection.many(WRITE, [(thread, name, "task", 0, "out", kind, value)])


def values(memory, thread, **config):
    found = memory.checkpointer.get_tuple({"configurable": {"thread_id": thread, **config}})
    return found.checkpoint["channel_values"]


def test_a_pickle_is_refused_with_its_place_and_the_others_come_over(empty_stock, ours, take_in):
    put(empty_stock, "good", "c1")
    put(empty_stock, "bad", "c2")
    write(empty_stock, "bad", "c2", "pickle", pickle.dumps({"a": 1}))
    report = take_in(empty_stock.url, ours)
    (failure,) = report.failures
    assert isinstance(failure.error, errors.RefusedValueError)
    assert all(part in str(failure.error) for part in ("thread 'bad'", "checkpoint 'c2'", "'out'", "pickle_fallback"))
    assert [thread.id for thread in ours.threads.list().threads] == ["good"]


def test_what_is_encrypted_is_refused(empty_stock, ours, take_in):
    put(empty_stock, "t", "c1")
    write(empty_stock, "t", "c1", "msgpack+aes", b"secret")
    (failure,) = take_in(empty_stock.url, ours).failures
    assert (failure.error.code, failure.error.status) == ("refused_value", 422)


@pytest.mark.parametrize("code", range(6))
def test_a_value_that_names_code_runs_nothing(code, empty_stock, ours, take_in, tmp_path):
    marker = tmp_path / "ran"
    body = ["subprocess", "check_call", ["touch", str(marker)], "__call__"]
    hostile = ormsgpack.packb(
        {**checkpoint({}, id="c1"), "channel_values": {"x": ormsgpack.Ext(code, ormsgpack.packb(body))}}
    )
    empty_stock.many(ROW, [("t", "", "c1", None, "msgpack", hostile, b"{}")])
    assert take_in(empty_stock.url, ours).failures == []
    assert not marker.exists()
    with pytest.raises(errors.UnknownTypeError, match="subprocess:check_call"):
        ours.checkpointer.get_tuple(graphs.config("t"))


def test_a_value_that_is_too_deep_or_of_no_known_kind_is_refused(empty_stock, ours, take_in):
    deep = b"\x00"
    for _ in range(150):
        deep = ormsgpack.packb(ormsgpack.Ext(7, deep))
    put(empty_stock, "deep", "c1")
    write(empty_stock, "deep", "c1", "msgpack", deep)
    put(empty_stock, "odd", "c2")
    write(empty_stock, "odd", "c2", "msgpack", ormsgpack.packb(ormsgpack.Ext(99, b"")))
    put(empty_stock, "cut", "c3")
    write(empty_stock, "cut", "c3", "msgpack", b"\x92\x01")
    failures = take_in(empty_stock.url, ours).failures
    assert [failure.error.code for failure in failures] == ["corrupt_value"] * 3


def test_values_that_old_savers_wrote_as_json_come_over(empty_stock, ours, take_in):
    old = {
        "said": {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "HumanMessage"],
            "kwargs": {"content": "hi"},
        },
        "id": {
            "lc": 2,
            "type": "constructor",
            "id": ["uuid", "UUID"],
            "method": [None],
            "args": ["0" * 32],
            "kwargs": {},
        },
        "mine": {
            "lc": 2,
            "type": "constructor",
            "id": [*graphs.__name__.split("."), "Leg"],
            "kwargs": {"start": "Chur"},
        },
        "plain": [1, None, "x"],
    }
    put(empty_stock, "t", "c1")
    write(empty_stock, "t", "c1", "json", json.dumps(old).encode())
    assert take_in(empty_stock.url, ours).failures == []
    with Memory.open(ours.url, types=graphs.TYPES) as memory:
        ((_, _, found),) = memory.checkpointer.get_tuple(graphs.config("t")).pending_writes
    assert found["said"] == HumanMessage("hi")
    assert found["id"].int == 0
    assert found["mine"] == graphs.Leg(start="Chur")
    assert found["plain"] == [1, None, "x"]


def test_a_parent_that_is_not_there_is_none_and_one_with_a_later_id_is_kept(empty_stock, ours, take_in):
    put(empty_stock, "t", "c1", parent="gone")
    put(empty_stock, "t", "c3", parent="c1")
    put(empty_stock, "t", "c2", parent="c3")
    assert take_in(empty_stock.url, ours).failures == []
    listed = [*ours.checkpointer.list(graphs.config("t"))]
    parents = [f.parent_config and f.parent_config["configurable"]["checkpoint_id"] for f in listed]
    assert [f.checkpoint["id"] for f in listed] == ["c3", "c2", "c1"]
    assert parents == ["c1", "c3", None]
    assert listed[0].metadata == {"step": 1, "writes": {"a": 1}}
    assert take_in(empty_stock.url, ours).counts.threads_there == 1


def test_integer_versions_and_fields_of_old_checkpoints_come_over(empty_stock, ours, take_in):
    put(empty_stock, "t", "c1", {"x": 1}, versions={"x": 7}, v=1, pending_sends=[], versions_seen={"n": {"x": 6}})
    assert take_in(empty_stock.url, ours).failures == []
    found = ours.checkpointer.get_tuple(graphs.config("t")).checkpoint
    assert (found["channel_versions"], found["versions_seen"], found["v"]) == ({"x": 7}, {"n": {"x": 6}}, 1)
    assert found["pending_sends"] == []


def test_tables_of_the_first_releases_are_read(tmp_path, ours, take_in):
    url = f"sqlite:///{tmp_path}/old.db"
    with SqliteConnection(tmp_path / "old.db", writing=True) as connection:
        connection.rows(
            "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT DEFAULT '', checkpoint_id TEXT, "
            "parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB)"
        )
        connection.rows(
            "CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT DEFAULT '', checkpoint_id TEXT, task_id TEXT, "
            "idx INTEGER, channel TEXT, type TEXT, value BLOB)"
        )
        connection.rows("CREATE TABLE store (prefix TEXT, key TEXT, value TEXT, created_at TEXT, updated_at TEXT)")
        put(connection, "t", "c1")
        write(connection, "t", "c1", "null", None)
        write(connection, "t", "lost", "null", None)
        connection.many(
            "INSERT INTO store VALUES (?, ?, ?, ?, ?)", [("a.b", "k", '{"x": 1}', *["2025-01-02 03:04:05"] * 2)]
        )
    report = take_in(url, ours)
    assert (report.failures, report.counts.threads, report.counts.items) == ([], 1, 1)
    assert report.notes == ["1 pending writes were left out: their checkpoints are not there"]
    item = ours.store.get(("a", "b"), "k")
    assert (item.value, item.created_at.isoformat()) == ({"x": 1}, "2025-01-02T03:04:05+00:00")


def test_the_end_of_an_item_comes_over_and_an_expired_one_does_not(empty_stock, ours, take_in, give_back, tmp_path):
    times = ("2025-01-02 03:04:05", "2025-01-03 00:00:00.250000")
    late, early = "2999-01-01 00:00:00.500000+00:00", "2025-01-02 03:05:05"
    empty_stock.many(ITEM, [("a", "k", '{"x": 1}', *times, late, 1.5), ("a", "gone", '{"x": 2}', *times, early, 1)])
    report = take_in(empty_stock.url, ours)
    assert (report.failures, report.counts.items) == ([], 1)
    assert report.notes == ["1 items were left out: they have expired"]
    back = f"sqlite:///{tmp_path}/back.db"
    assert give_back(ours, back).failures == []
    with SqliteConnection(tmp_path / "back.db", writing=False) as connection:
        (row,) = connection.rows("SELECT created_at, updated_at, expires_at, ttl_minutes, value FROM store")
    assert row == ["2025-01-02 03:04:05", "2025-01-03 00:00:00.250000", "2999-01-01 00:00:00.500000", 1.5, b'{"x": 1}']


def test_what_the_stock_tables_can_not_hold_is_refused_and_the_rest_goes(ours, give_back, tmp_path):
    with Memory.open(ours.url, types=graphs.TYPES) as memory:
        saver, store = memory.checkpointer, memory.store
        for name, value in {"good": 1, "complex": 1j, "mood": [graphs.Mood.BAD], "point": graphs.Point(1.0)}.items():
            saver.put(
                graphs.config(name) | {"configurable": {"thread_id": name, "checkpoint_ns": ""}},
                checkpoint({"x": value}),
                {"step": 0},
                {"x": 1},
            )
        store.put(("a.b",), "dotted", {"x": 1})
        store.put(("a",), "tuple", {"x": (1,)})
        store.put(("a",), "good", {"x": 1})
    url = f"sqlite:///{tmp_path}/back.db"
    report = give_back(ours, url)
    assert sorted(failure.what for failure in report.failures) == [
        "item 'dotted' in ('a.b',)",
        "item 'tuple' in ('a',)",
        "thread 'complex'",
        "thread 'mood'",
    ]
    assert {failure.error.code for failure in report.failures} == {"unsupported_value"}
    assert any("--types" in str(failure.error) for failure in report.failures)
    assert (report.counts.threads, report.counts.items) == (2, 1)
    report = give_back(ours, url, types=graphs.TYPES)
    assert (report.counts.threads, len(report.failures)) == (1, 3)


def test_what_postgresql_refuses_is_left_out_and_the_rest_goes(ours, give_back, postgres_url):
    for name, text in {"a": "nul \0", "b": "good"}.items():
        where = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
        ours.checkpointer.put(where, checkpoint({"x": [text]}), {"step": 0, "text": text}, {"x": 1})
        ours.store.put(("n",), name, {"x": text})
    report = give_back(ours, postgres_url)
    assert [failure.what for failure in report.failures] == ["thread 'a'", "item 'a' in ('n',)"]
    assert {failure.error.code for failure in report.failures} == {"unsupported_value"}
    assert (report.counts.threads, report.counts.items) == (1, 1)


def test_a_thread_that_stock_savers_would_go_on_with_elsewhere_is_refused(ours, give_back, tmp_path):
    where = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for name in ("c2", "c1"):
        where = ours.checkpointer.put(where, checkpoint({"x": name}, id=name), {"step": 0}, {"x": 1})
    (failure,) = give_back(ours, f"sqlite:///{tmp_path}/back.db").failures
    assert "go by the ids" in str(failure.error)


def test_a_database_that_is_not_a_stock_savers_is_left_alone(ours, tmp_path):
    sql = "SELECT sql FROM sqlite_schema ORDER BY name"
    with SqliteConnection(tmp_path / "ours.db", writing=False) as connection:
        before = connection.rows(sql)
    with pytest.raises(errors.ForeignDatabaseError):
        StockTarget(ours.url, OpaqueCodec())
    with pytest.raises(errors.ForeignDatabaseError):
        StockSource(ours.url, OpaqueCodec())
    with SqliteConnection(tmp_path / "ours.db", writing=False) as connection:
        assert connection.rows(sql) == before
    with pytest.raises(errors.DatabaseUnavailableError, match="no file"):
        StockSource(f"sqlite:///{tmp_path}/nowhere.db", OpaqueCodec())
    (tmp_path / "text.db").write_text("no database at all" * 100)
    with pytest.raises(errors.DatabaseUnavailableError):
        StockSource(f"sqlite:///{tmp_path}/text.db", OpaqueCodec())


def test_reading_changes_nothing_of_the_source(stock_file, ours, take_in, tmp_path):
    before = (tmp_path / "stock.db").read_bytes()
    take_in(stock_file, ours)
    assert (tmp_path / "stock.db").read_bytes() == before


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setattr(connections, "psycopg", None)
    with pytest.raises(errors.ConfigurationError, match=r"perdure\[postgres\]"):
        StockSource("postgresql://nobody@localhost/nothing", OpaqueCodec())


def test_a_server_that_does_not_answer_is_a_typed_error_without_the_password():
    with pytest.raises(errors.DatabaseUnavailableError) as caught:
        StockSource("postgresql://someone:secret@127.0.0.1:1/nothing", OpaqueCodec())
    assert "secret" not in str(caught.value)


def test_the_stock_package_is_asked_for_where_it_is_missing(tmp_path):
    """It is needed to make the tables, and for nothing else."""
    program = (
        "import sys; sys.modules['langgraph.checkpoint.sqlite'] = None; sys.argv = ['child', sys.argv[1], 'rwc']\n"
        "from perdure.moving import child; child.main()"
    )
    frames = b"".join(len(f).to_bytes(4, "big") + f for f in [ormsgpack.packb(["setup", "saver"])])
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "x.db")], input=frames, capture_output=True, check=True
    )
    assert b"langgraph-checkpoint-sqlite" in done.stdout


def test_a_message_with_an_unknown_value_inside_goes_back_with_it(empty_stock, ours, take_in, give_back, tmp_path):
    said = AIMessage("hi", additional_kwargs={"mood": graphs.Mood.BAD, "deep": [graphs.Point(2.0)]})
    put(empty_stock, "t", "c1", {"messages": [said]})
    take_in(empty_stock.url, ours)
    held = OpaqueCodec()
    with StockSource(empty_stock.url, held) as source:
        (key,) = source.keys("t")
        (message,) = source.state("t", key).checkpoint["channel_values"]["messages"]
    assert isinstance(message.additional_kwargs["mood"], Opaque)
    with Memory.open(ours.url, types=graphs.TYPES) as memory:
        (found,) = values(memory, "t")["messages"]
    assert found.additional_kwargs == said.additional_kwargs
    assert give_back(ours, f"sqlite:///{tmp_path}/back.db").failures == []
    with StockSource(f"sqlite:///{tmp_path}/back.db", OpaqueCodec(graphs.TYPES)) as source:
        (again,) = source.state("t", key).checkpoint["channel_values"]["messages"]
    assert again == said
