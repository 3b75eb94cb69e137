"""Behind a pooler in transaction mode nothing may be kept in a session. The pooler is a fake; the server is real."""

from __future__ import annotations

import asyncio

import pytest
from tests import support
from tests.faults import own
from tests.faults.conversations import Expectations, keep_talking
from tests.faults.poolers import Pooler
from tests.faults.test_postgres_life import in_threads, one_after_the_other

from perdure import Memory, errors


@pytest.fixture(scope="module")
def mine():
    with own.server() as made:
        yield made


@pytest.fixture
def pooler(mine):
    with Pooler(mine.database()) as pooler:
        yield pooler


def talk(memory, name):
    for _ in keep_talking(memory, name, name, 12):
        memory.store.put((name,), "k", {"who": name})
        assert memory.store.get((name,), "k").value == {"who": name}


async def talk_too(memory):
    await asyncio.gather(*(one_after_the_other(memory, f"l{number}", 4) for number in range(4)))


def use(url, threshold):
    """Use a memory from threads and an event loop at once."""
    pool = {"kwargs": {"prepare_threshold": threshold}, "call_timeout": 20, "timeout": 20}
    with Memory.open(url, pool=pool) as memory:
        views = [memory.scope(tenant=f"tenant {number}") for number in range(3)]
        threads = [lambda view=view, at=at: talk(view, f"w{at}") for at, view in enumerate(views)]
        in_threads(lambda: asyncio.run(talk_too(memory)), *threads)
        for at, view in enumerate(views):
            found = list(view.checkpointer.list(support.config(f"w{at}")))
            assert len(found) == 12
            assert {Expectations().check(item)[0] for item in found} == {f"w{at}"}


def test_a_memory_works_behind_a_pooler_that_shares_sessions(pooler):
    use(pooler.url, None)
    assert pooler.transactions > 100


def test_control_prepared_statements_break_behind_it(pooler):
    with pytest.raises(errors.DatabaseError):
        use(pooler.url, 0)
