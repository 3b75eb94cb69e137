"""Opening a memory, narrowing it, closing it."""

from __future__ import annotations

import enum
import sys
from typing import TypedDict

import pytest
from langgraph.graph import START, StateGraph
from tests.support import config, put, values_of

import perdure
from perdure import Memory, errors


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"conflicts": "reject"}, "conflicts"),
        ({"conflicts": "wait"}, "conflicts"),
    ],
)
def test_what_comes_later_says_that_it_does(given, names):
    with pytest.raises(errors.NotAvailableError, match=names):
        Memory.open("sqlite://", **given)


async def later(state):
    return state


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"schema_version": 0}, "schema_version is a whole number from 1, not 0"),
        ({"schema_version": True}, "schema_version"),
        ({"schema_version": "2"}, "schema_version"),
        ({"schema_version": 2, "migrations": [dict]}, "migrations is a dict"),
        ({"migrations": {1: dict}}, "schema_version is 1: raise it"),
        ({"schema_version": 2, "migrations": {2: dict}}, "key 2: .*from 1 to 1"),
        ({"schema_version": 3, "migrations": {0: dict}}, "key 0"),
        ({"schema_version": 3, "migrations": {True: dict}}, "key True"),
        ({"schema_version": 3, "migrations": {"1": dict}}, "key '1'"),
        ({"schema_version": 3, "migrations": {1: "split"}}, r"migrations\[1\] is a plain function"),
        ({"schema_version": 3, "migrations": {1: later}}, r"migrations\[1\] is a plain function"),
    ],
)
def test_versions_and_migrations_of_the_state_are_checked_when_opening(given, said):
    with pytest.raises(errors.ConfigurationError, match=said):
        Memory.open("sqlite://", **given)


def test_a_migration_may_be_missing_until_a_thread_needs_it():
    with Memory.open("sqlite://", schema_version=4, migrations={3: dict}) as memory:
        put(memory.checkpointer, config(), {"n": 1})
        assert values_of(memory.checkpointer, config()) == {"n": 1}


@pytest.mark.parametrize("given", [{"conflicts": "merge"}, {"tenants": "maybe"}, {"schema": "x"}, {"pool": {}}])
def test_an_option_that_can_not_be_is_refused(given):
    with pytest.raises(errors.ConfigurationError):
        Memory.open("sqlite://", **given)


@pytest.mark.parametrize("url", ["agent.db", "", "mysql://x", "/folder/agent.db", 7, None])
def test_a_url_of_another_form_says_which_to_write(url):
    with pytest.raises(errors.InvalidUrlError, match=r"sqlite:///agent\.db"):
        Memory.open(url)


def test_two_slashes_before_a_path_are_caught():
    with pytest.raises(errors.InvalidUrlError, match=r"sqlite:///agent\.db"):
        Memory.open("sqlite://agent.db")


def test_postgresql_without_its_driver_says_what_to_install(monkeypatch):
    for name in ("postgres", "pools", "failures", "servers", "roles"):
        monkeypatch.delitem(sys.modules, f"perdure.engine.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(errors.ConfigurationError, match=r"pip install 'perdure\[postgres\]'"):
        Memory.open("postgresql://localhost/x")


def test_a_memory_is_closed_by_its_block_and_says_so_afterwards(url):
    with Memory.open(url) as memory:
        put(memory.checkpointer, config(), {"n": 1})
    for call in (
        lambda: memory.checkpointer.get_tuple(config()),
        lambda: put(memory.checkpointer, config(), {"n": 1}),
        memory.threads.list,
        lambda: memory.store.get(("a",), "k"),
    ):
        with pytest.raises(errors.ClosedError, match="open"):
            call()
    memory.close()


@pytest.mark.anyio
async def test_an_async_block_closes_as_well(url):
    async with Memory.open(url) as memory:
        assert await memory.checkpointer.aget_tuple(config()) is None
        assert await memory.asetup() == []
    with pytest.raises(errors.ClosedError):
        await memory.checkpointer.aget_tuple(config())


def test_a_view_shares_the_engine_and_leaves_closing_to_the_memory(url):
    with Memory.open(url) as memory:
        with memory.scope(tenant="acme", subject="u1") as view:
            put(view.checkpointer, config(), {"n": 1})
        assert values_of(memory.scope(tenant="acme").checkpointer, config()) == {"n": 1}
        assert memory.threads.get("t1") is None
        assert memory.scope(tenant="acme").threads.get("t1").subject == "u1"


def test_a_saver_outlives_the_name_of_its_memory(url):
    saver = Memory.open(url).checkpointer
    put(saver, config(), {"n": 1})
    assert values_of(saver, config()) == {"n": 1}


def test_a_missing_database_is_not_made_unless_it_may_be(tmp_path):
    with pytest.raises(errors.NotSetUpError, match="perdure setup"):
        Memory.open(f"sqlite:///{tmp_path}/none.db", create=False)
    assert list(tmp_path.iterdir()) == []


class Colour(enum.Enum):
    RED = "red"


class State(TypedDict):
    colour: Colour


def test_registering_a_graph_registers_the_types_of_its_state(file_url):
    builder = StateGraph(State)
    builder.add_node("one", lambda _: {"colour": Colour.RED})
    builder.add_edge(START, "one")
    with Memory.open(file_url) as memory:
        put(memory.checkpointer, config(), {"colour": Colour.RED})
    with Memory.open(file_url) as memory:
        with pytest.raises(errors.UnknownTypeError):
            memory.checkpointer.get_tuple(config())
        memory.register(builder.compile())
        assert values_of(memory.checkpointer, config()) == {"colour": Colour.RED}


def test_a_class_that_can_not_be_kept_is_refused_when_it_is_registered():
    class Plain:
        pass

    with pytest.raises(errors.UnsupportedValueError, match="Plain"):
        Memory.open("sqlite://", types=[Plain])
    with Memory.open("sqlite://") as memory, pytest.raises(errors.UnsupportedValueError, match="Plain"):
        memory.register(Plain)


def test_the_public_names_are_there():
    assert set(perdure.__all__) == {
        "About", "Delete", "History", "Memory", "PerdureError", "Policy", "Put", "Said", "Source", "Version", "errors",
    }  # fmt: skip
