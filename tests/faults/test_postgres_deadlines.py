"""Servers that don't answer, don't run or come back: every call ends in time, with a typed error or what it is for."""

from __future__ import annotations

import asyncio
import threading
import time

import psycopg
import pytest
from langgraph.store.base import GetOp, PutOp
from tests import support
from tests.faults import own

from perdure import Memory, errors

CALL, WAIT, MARGIN = 1.5, 1.0, 4.0
LIMIT = CALL + CALL / 4 + WAIT + MARGIN


@pytest.fixture(scope="module")
def mine():
    with own.server(settings={"deadlock_timeout": "50ms"}) as made:
        yield made


@pytest.fixture
def url(mine):
    return mine.database()


@pytest.fixture
def running(mine):
    """The server; it runs again afterwards."""
    yield mine
    mine.server.thaw()
    mine.server.start()


def calls(memory, style, count=8):
    """Make calls of four kinds at once; return the errors they end in, each in time."""
    saver, store, thread = memory.checkpointer, memory.store, support.config("t")
    made = support.checkpoint({"n": 1})
    kinds = [
        (store, "get", (("n",), "k")),
        (store, "put", (("n",), "k", {"n": 1})),
        (saver, "get_tuple", (thread,)),
        (saver, "put", (thread, made, support.metadata(), made["channel_versions"])),
    ] * (count // 4)
    if style == "sync":
        return in_threads(kinds)
    return asyncio.run(in_tasks(kinds))


def in_threads(kinds):
    found = []

    def one(target, name, given):
        began = time.monotonic()
        try:
            found.append(getattr(target, name)(*given))
        except BaseException as error:  # noqa: BLE001 - looked at below
            found.append(error)
        assert time.monotonic() - began < LIMIT

    running = [threading.Thread(target=one, args=kind) for kind in kinds]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
        assert not thread.is_alive(), "it hangs"
    assert len(found) == len(kinds)
    return [type(error) for error in found]


async def in_tasks(kinds):
    began = time.monotonic()
    made = [getattr(target, f"a{name}")(*given) for target, name, given in kinds]
    found = await asyncio.wait_for(asyncio.gather(*made, return_exceptions=True), 60)
    assert time.monotonic() - began < LIMIT
    return [type(error) for error in found]


STYLES = pytest.mark.parametrize("style", ["sync", "async"])


@STYLES
def test_calls_to_a_frozen_server_end_in_time_and_work_when_it_is_thawed(running, url, style):
    with own.watched(running, url, max_size=3, call_timeout=CALL, timeout=WAIT) as memory:
        assert set(calls(memory, style)) & {errors.DeadlineError, errors.CommitUnknownError} == set()
        running.server.freeze()
        known = {errors.DeadlineError, errors.CommitUnknownError, errors.PoolExhaustedError}
        assert set(calls(memory, style)) <= known | {errors.DatabaseUnavailableError}
        running.server.thaw()
        memory.store.put(("after",), "k", {"n": 1})
        assert memory.store.get(("after",), "k").value == {"n": 1}


def test_control_without_deadlines_a_frozen_server_holds_a_call(running, url):
    with Memory.open(url, pool={"call_timeout": 60}) as memory:
        memory.store.get(("n",), "k")
        running.server.freeze()
        thread = threading.Thread(target=memory.store.get, args=(("n",), "k"))
        thread.start()
        thread.join(LIMIT)
        assert thread.is_alive()
        running.server.thaw()
        thread.join(60)


@STYLES
def test_calls_that_get_no_connection_say_that_the_pool_is_exhausted(mine, url, style):
    with own.watched(mine, url, max_size=2, call_timeout=CALL + WAIT, timeout=WAIT) as memory:
        memory.store.put(("n",), "k", {"n": 1})
        with psycopg.connect(mine.server.url(url.rpartition("/")[2].partition("?")[0])) as admin:
            admin.execute("LOCK TABLE threads, items IN ACCESS EXCLUSIVE MODE")
            found = calls(memory, style)
            admin.rollback()
        assert found.count(errors.PoolExhaustedError) == len(found) - 2
        memory.store.put(("n",), "k", {"n": 2})


def test_a_server_that_is_down_at_open_is_said_to_be_at_once(running, url):
    running.server.stop()
    began = time.monotonic()
    with pytest.raises(errors.DatabaseUnavailableError, match="can't connect"):
        Memory.open(url)
    assert time.monotonic() - began < MARGIN


@STYLES
def test_calls_work_again_soon_after_a_long_outage(running, url, style):
    with own.watched(running, url, call_timeout=CALL, timeout=WAIT) as memory:
        calls(memory, style)
        running.server.stop("immediate")
        for _ in range(5):
            assert set(calls(memory, style, 4)) == {errors.DatabaseUnavailableError}
        running.server.start()
        began = time.monotonic()
        while errors.DatabaseUnavailableError in calls(memory, style, 4):
            assert time.monotonic() - began < 20
        print(f"recovered after {time.monotonic() - began:.2f} s")  # noqa: T201 - a figure to look at


@STYLES
def test_calls_that_wait_through_an_outage_are_answered_soon_after_it(running, url, style):
    with own.watched(running, url, timeout=30) as memory:
        memory.store.put(("n",), "k", {"n": 1})
        running.server.stop("immediate")
        found = []

        def wait():
            get = memory.store.get if style == "sync" else lambda *given: asyncio.run(memory.store.aget(*given))
            found.extend((get(("n",), "k").value, time.monotonic()))

        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(4.5)
        running.server.start()
        began = time.monotonic()
        waiting.join(60)
        assert found[0] == {"n": 1}
        assert found[1] - began < 10
        print(f"answered after {found[1] - began:.2f} s")  # noqa: T201 - a figure to look at


@STYLES
def test_calls_work_at_once_after_all_connections_were_ended(mine, url, style):
    with own.watched(mine, url) as memory, asyncio.Runner() as runner:

        def call(target, name, *given):
            return getattr(target, name)(*given) if style == "sync" else runner.run(getattr(target, f"a{name}")(*given))

        for n in range(8):
            made = support.checkpoint({"n": n})
            given = (support.config("t"), made, support.metadata(n), made["channel_versions"])
            call(memory.checkpointer, "put", *given)
            mine.end(mine.backends())
            assert call(memory.checkpointer, "get_tuple", support.config("t")).checkpoint["channel_values"] == {"n": n}
            mine.end(mine.backends())
            call(memory.store, "put", ("n",), "k", {"n": n})
            mine.end(mine.backends())
        assert call(memory.store, "get", ("n",), "k").value == {"n": 7}


@pytest.mark.parametrize("reading", [False, True], ids=["puts", "puts with a get between"])
def test_batches_in_opposite_order_lock_each_other_out_for_a_moment_only(mine, url, reading):
    keys = [f"k{number}" for number in range(120)]
    failed = []
    before = mine.ask("SELECT coalesce(sum(deadlocks), 0)::int FROM pg_stat_database")[0][0]

    def fill(memory, n, order):
        ops = [PutOp(("n",), key, {"n": n, "text": "x" * 500}) for key in order]
        if reading:
            ops.insert(60, GetOp(("n",), "k0"))
        for _ in range(12):
            try:
                memory.store.batch(ops)
            except errors.DatabaseLockedError:
                failed.append(n)

    with own.watched(mine, url) as memory:
        threads = [threading.Thread(target=fill, args=(memory, n, keys[:: 1 if n % 2 else -1])) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        values = {item.value["n"] for item in memory.store.search(("n",), limit=200)}
        assert len(values) == 1, "a batch is whole"
    met = mine.ask("SELECT sum(deadlocks)::int FROM pg_stat_database")[0][0] - before
    print(f"{met} deadlocks, {len(failed)} calls gave up")  # noqa: T201 - a figure to look at
    assert bool(met) is reading, "puts alone are made in one order, whichever they are given in"
    assert reading or not failed
