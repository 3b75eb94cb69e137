"""Databases of LangGraph's own savers, written by them in a process of their own, and moves as tests run them."""

import shutil

import pytest
from tests.moving import graphs, peer

from perdure import Memory
from perdure.moving import OpaqueCodec, OurSource, OurTarget, StockSource, StockTarget, move
from perdure.moving.connections import SqliteConnection

THREADS = [*graphs.BUILDERS, "integers"]


@pytest.fixture(scope="session")
def _begun(tmp_path_factory):
    path = tmp_path_factory.mktemp("stock") / "stock.db"
    peer.ask("begin", f"sqlite:///{path}")
    return path


@pytest.fixture
def stock_file(_begun, tmp_path):
    """A SQLite file with a thread of each kind."""
    return f"sqlite:///{shutil.copy(_begun, tmp_path / 'stock.db')}"


@pytest.fixture(scope="session")
def expected(_begun, tmp_path_factory):
    """The states and items of that file, and what comes of going on with it."""
    path = shutil.copy(_begun, tmp_path_factory.mktemp("expected") / "stock.db")
    return peer.ask("states,items,go_on", f"sqlite:///{path}", *THREADS)


@pytest.fixture
def stock_postgres(postgres_url):
    """The same in PostgreSQL."""
    peer.ask("begin", postgres_url)
    return postgres_url


@pytest.fixture
def ours(tmp_path):
    with Memory.open(f"sqlite:///{tmp_path}/ours.db") as memory:
        yield memory


@pytest.fixture
def take_in():
    """Import from stock tables."""

    def call(url, memory, *, types=(), tenant=None, target=OurTarget, **given):
        codec = OpaqueCodec(types)
        with StockSource(url, codec) as source:
            return move(source, target(memory, codec, tenant), **given)

    return call


@pytest.fixture
def give_back():
    """Export into stock tables."""

    def call(memory, url, *, types=(), **given):
        codec = OpaqueCodec(types)
        with StockTarget(url, codec) as target:
            return move(OurSource(memory, codec, None), target, **given)

    return call


@pytest.fixture
def states_of():
    """Return every state of a memory's threads, as `peer.ask("states", …)` does for stock savers."""

    def call(memory, threads=THREADS, tenant=None):
        reader = Memory.open(memory.url, types=graphs.TYPES, tenant=tenant)
        with reader:
            return peer.states(reader.checkpointer, threads)

    return call


@pytest.fixture
def empty_stock(tmp_path):
    """Empty tables of a stock saver and store, and a connection to put rows into them."""
    path = tmp_path / "rows.db"
    with SqliteConnection(path, writing=True) as connection:
        connection.setup("saver")
        connection.setup("store")
        connection.url = f"sqlite:///{path}"
        yield connection
