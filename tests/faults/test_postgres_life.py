"""The life of a memory on PostgreSQL: event loops that come and go, forks, closing while calls are under way."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from tests import support
from tests.engine import processes
from tests.faults import own

from perdure import Memory, errors


@pytest.fixture(scope="module")
def mine():
    with own.server() as made:
        yield made


@pytest.fixture
def url(mine):
    return mine.database()


async def turn(memory, name, n):
    """Write and read a little, by the async names."""
    saver, where = memory.checkpointer, support.config(name)
    made = support.checkpoint({"n": n, "who": name})
    await saver.aput(where, made, support.metadata(n), dict(made["channel_versions"]))
    found = await saver.aget_tuple(where)
    assert found.checkpoint["channel_values"] == {"n": n, "who": name}
    await memory.store.aput((name,), "k", {"n": n})
    assert (await memory.store.aget((name,), "k")).value == {"n": n}


def blocking_turn(memory, name, n):
    support.put(memory.checkpointer, support.config(name), {"n": n, "who": name})
    assert support.values_of(memory.checkpointer, support.config(name)) == {"n": n, "who": name}
    memory.store.put((name,), "k", {"n": n})
    assert memory.store.get((name,), "k").value == {"n": n}


async def turns(memory, name, count):
    await asyncio.gather(*(one_after_the_other(memory, f"{name} {number}", count) for number in range(5)))


async def one_after_the_other(memory, name, count):
    for n in range(count):
        await turn(memory, name, n)


def in_threads(*targets):
    failed = []

    def run(target):
        try:
            target()
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    running = [threading.Thread(target=run, args=(target,)) for target in targets]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(120)
        assert not thread.is_alive(), "it hangs"
    if failed:
        raise failed[0]


def test_event_loops_in_threads_and_blocking_calls_share_one_memory(mine, url):
    with own.watched(mine, url) as memory:
        loops = [lambda number=number: asyncio.run(turns(memory, f"l{number}", 8)) for number in range(3)]
        threads = [lambda n=n: [blocking_turn(memory, f"b{n}", at) for at in range(30)] for n in range(3)]
        in_threads(*loops, *threads)
        assert len(list(memory.checkpointer.list(None))) == 3 * 5 * 8 + 3 * 30


def test_event_loops_that_end_without_closing_anything_leave_nothing(mine, url):
    with own.watched(mine, url) as memory:
        for number in range(8):
            asyncio.run(turns(memory, f"r{number}", 2))
        assert len(list(memory.checkpointer.list(None))) == 8 * 5 * 2


async def begin(memory, seconds):
    """Ask for connections, and end without them."""
    calls = [asyncio.ensure_future(memory.store.aget(("n",), "k")) for _ in range(20)]
    await asyncio.sleep(seconds)
    assert calls


def test_an_event_loop_may_end_while_its_pool_connects(mine, url):
    def run(memory):
        for number in range(30):
            asyncio.run(begin(memory, number / 2000))

    with own.watched(mine, url) as memory:
        in_threads(lambda: run(memory))
        asyncio.run(turns(memory, "after", 1))


UNGUARDED = """
import asyncio
from perdure.engine.pools import LoopPool
from tests.faults.test_postgres_life import begin
async def sleep(self):
    await self._ended.wait()
LoopPool._guarded = sleep
memory = Memory.open(url)
for number in range(60):
    asyncio.run(begin(memory, number / 4000))
"""


def test_control_a_pool_that_nobody_guards_keeps_its_loop_from_ending(url):
    process = processes.start(UNGUARDED, url)
    with pytest.raises(AssertionError, match="it hangs"):
        process.end(timeout=5)


def test_a_loop_whose_tasks_were_all_cancelled_goes_on(mine, url):
    async def main(memory):
        await turn(memory, "t", 1)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.05)
        await turn(memory, "t", 2)

    with own.watched(mine, url) as memory:
        asyncio.run(main(memory))


def test_a_loop_that_runs_now_and_then_keeps_its_connections(mine, url):
    with own.watched(mine, url) as memory, asyncio.Runner() as runner:
        for n in range(3):
            runner.run(turn(memory, "t", n))
            blocking_turn(memory, "t", n)
        assert len(mine.backends()) == 2


FORK = """
memory = Memory.open(url, pool={"max_size": 2})
store = memory.store
store.put(("n",), "before", {"n": 1})
import asyncio
loop = asyncio.new_event_loop()
loop.run_until_complete(store.aget(("n",), "before"))
def sessions():
    return sorted(engine_pids(memory))
def engine_pids(memory):
    import psycopg
    with psycopg.connect(url) as c:
        return [r[0] for r in c.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'perdure' AND pid <> pg_backend_pid()")]
before = sessions()
pid = os.fork()
if not pid:
    code = 1
    try:
        store.put(("n",), "child", {"n": 2})
        assert store.get(("n",), "before").value == {"n": 1}
        assert asyncio.run(store.aget(("n",), "child")).value == {"n": 2}
        import gc
        memory.close()
        del loop, store, memory
        gc.collect()
        code = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        os._exit(code)
for n in range(30):
    store.put(("n",), "parent", {"n": n})
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert sessions() == before, (sessions(), before)
assert {i.key for i in store.search(("n",))} == {"before", "child", "parent"}
assert loop.run_until_complete(store.aget(("n",), "child")).value == {"n": 2}
assert sessions() == before, (sessions(), before)
memory.close()
loop.close()
"""


def test_after_a_fork_both_processes_go_on_and_the_parents_sessions_live(url):
    processes.run(FORK, url)


def test_every_call_of_a_closed_memory_says_so(url):
    memory = Memory.open(url)
    blocking_turn(memory, "t", 1)
    asyncio.run(turn(memory, "t", 2))
    memory.close()
    memory.close()
    for call in (lambda: memory.store.get(("n",), "k"), lambda: support.put(memory.checkpointer, support.config())):
        with pytest.raises(errors.ClosedError):
            call()
    with pytest.raises(errors.ClosedError):
        asyncio.run(memory.store.aget(("n",), "k"))
    asyncio.run(memory.aclose())


def until_closed(memory, name):
    """Call until the memory is closed; return how often it worked."""
    for n in range(100_000):
        try:
            blocking_turn(memory, name, n)
        except errors.ClosedError:
            return n
    raise AssertionError


async def auntil_closed(memory, name):
    for n in range(100_000):
        try:
            await turn(memory, name, n)
        except errors.ClosedError:
            return n
    raise AssertionError


@pytest.mark.parametrize("size", [1, 4])
def test_closing_from_a_thread_ends_calls_under_way_with_what_they_asked_for_or_a_typed_error(mine, url, size):
    with own.watched(mine, url, max_size=size) as memory:

        async def main(number):
            await asyncio.gather(*(auntil_closed(memory, f"l{number} {at}") for at in range(6)))

        def close():
            time.sleep(0.5)
            memory.close()

        threads = [lambda n=n: until_closed(memory, f"b{n}") for n in range(4)]
        in_threads(close, *threads, *(lambda n=n: asyncio.run(main(n)) for n in range(2)))


@pytest.mark.parametrize("way", ["close", "aclose"])
def test_closing_from_a_loop_ends_its_calls_under_way(mine, url, way):
    async def main(memory):
        calls = [asyncio.ensure_future(auntil_closed(memory, f"t{number}")) for number in range(12)]
        await asyncio.sleep(0.5)
        if way == "close":
            memory.close()
        else:
            await memory.aclose()
        assert sum(await asyncio.gather(*calls)) > 0

    with own.watched(mine, url) as memory:
        in_threads(lambda: asyncio.run(main(memory)))


def test_a_memory_closed_as_the_last_thing_of_a_loop_leaves_nothing(mine, url):
    async def main(memory):
        await turn(memory, "t", 1)
        memory.close()

    with own.watched(mine, url) as memory:
        asyncio.run(main(memory))


FORK_AND_BEGIN = """
import os
from tests.support import config, put

memory = Memory.open(url)
put(memory.checkpointer, config("before"), {"n": 0})
pid = os.fork()
if not pid:
    code = 1
    try:
        for n in range(8):
            put(memory.checkpointer, config(f"child {n}"), {"n": n})
        code = 0
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
for n in range(8):
    put(memory.checkpointer, config(f"parent {n}"), {"n": n})
assert len(memory.threads.list().threads) == 17
memory.close()
"""


def test_after_a_fork_parent_and_child_begin_threads_under_numbers_of_their_own(url):
    processes.run(FORK_AND_BEGIN, url)
