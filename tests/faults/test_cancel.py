"""Async calls to the embedded engine, cancelled at any moment: nothing torn, nothing leaked, everything usable.

The model of the agents is a fake that answers at once.
"""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time

import apsw
import pytest
from benchmarks import agents
from langgraph.types import Overwrite
from tests import support
from tests.faults.conversations import Conversation, Expectations, put_step
from tests.faults.disks import seeded

from perdure import Memory, errors
from perdure.engine.sqlite import SqliteTx

LONG = 60


def perdures_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("perdure")]


def connections_to(url):
    gc.collect()
    path = url.removeprefix("sqlite:///")
    return [found for found in apsw.connections() if found.filename == path]


@pytest.fixture
def watched(sqlite_url):
    """A memory that leaves no thread and no connection behind, and has none out while it is idle."""
    before = len(perdures_threads())
    memory = Memory.open(sqlite_url)
    yield memory
    engine = memory.engine
    assert engine._readers.slots.qsize() == 4, "a reader was not given back"
    assert len(engine._readers.idle) <= 4
    deadline = time.monotonic() + LONG
    while engine._writer._leader is not None:
        assert time.monotonic() < deadline, "somebody leads for ever"
        time.sleep(0.001)
    assert not engine._writer._line
    assert len(perdures_threads()) <= before + 6, "more than a writer, readers and the rounds"
    memory.close()
    if sqlite_url != "sqlite://":
        assert connections_to(sqlite_url) == []
    assert len(perdures_threads()) == before


async def cancelled_somewhere(call, chosen):
    """Start a call and cancel it after a while; return what it returned if it was quicker."""
    task = asyncio.ensure_future(call)
    rounds = chosen.choice([0, 0, 1, 2, 3, 5])
    for _ in range(rounds):
        await asyncio.sleep(0)
    if rounds > 2:
        await asyncio.sleep(chosen.uniform(0, 0.004))
    task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        return None


async def gathered(listing):
    return [found async for found in listing]


async def check_thread(memory, thread):
    """Check every checkpoint of a thread and the catalogue's count of them; return their ids."""
    expectations = Expectations()
    found = await gathered(memory.checkpointer.alist(support.config(thread)))
    for item in found:
        expectations.check(item)
        assert all(value == "written" for _, _, value in item.pending_writes)
    known = memory.threads.get(thread)
    assert len(found) == (known.checkpoints if known else 0)
    return {item.config["configurable"]["checkpoint_id"] for item in found}


async def aput_step(saver, where, conversation):
    """Put the next step of a conversation by the saver's async name."""

    class Recorder:
        def put(self, *given):
            self.given = given

    recorder = Recorder()
    put_step(recorder, where, conversation)
    return await saver.aput(*recorder.given)


class Worker:
    """Makes one call after the other, each cancelled at some moment, and remembers what was acknowledged."""

    def __init__(self, memory, number, chosen):
        self.saver, self.store, self.chosen = memory.checkpointer, memory.store, chosen
        self.number, self.thread = number, f"t{number % 3}"
        self.acknowledged, self.cancelled = set(), 0

    async def run(self, calls):
        self.begin(0)
        for at in range(calls):
            choice = self.chosen.randrange(6) if "checkpoint_id" in self.where["configurable"] else 0
            found = await cancelled_somewhere(self.call(choice, at), self.chosen)
            self.cancelled += found is None
            if choice == 0 and found is None:  # it may have been stored or not: begin again
                self.begin(at)
            elif choice == 0:
                self.where = found
                self.acknowledged.add(found["configurable"]["checkpoint_id"])

    def begin(self, at):
        self.conversation, self.where = Conversation(f"w{self.number} {at}"), support.config(self.thread)

    def call(self, choice, at):
        saver, store, thread = self.saver, self.store, self.thread
        return (
            lambda: aput_step(saver, self.where, self.conversation),
            lambda: saver.aput_writes(self.where, [("messages", "written")], support.task()),
            lambda: saver.aget_tuple(support.config(thread)),
            lambda: gathered(saver.alist(support.config(thread), limit=5)),
            lambda: store.aput(("items", thread), f"{self.number} {at}", {"at": at}),
            lambda: store.asearch(("items", thread), limit=3),
        )[choice]()


async def cancel(memory, chosen, calls):
    workers = [Worker(memory, number, chosen) for number in range(12)]
    await asyncio.wait_for(asyncio.gather(*(worker.run(calls // 12) for worker in workers)), LONG)
    return workers


@pytest.mark.anyio
async def test_three_hundred_cancelled_calls_tear_nothing_and_leave_nothing_behind(watched):
    chosen, seed = seeded()
    before = asyncio.all_tasks()
    workers = await cancel(watched, chosen, 720)
    assert sum(worker.cancelled for worker in workers) > 300, seed
    # A call that was cancelled after it began may still be at work; what comes after it in line has waited.
    await watched.store.aput(("after",), "k", {})
    for thread in ("t0", "t1", "t2"):
        there = await check_thread(watched, thread)
        assert {id_ for worker in workers if worker.thread == thread for id_ in worker.acknowledged} <= there, seed
    for item in await watched.store.asearch(("items",), limit=1000):
        assert item.value == {"at": int(item.key.split()[1])}
    assert asyncio.all_tasks() == before


class TornTx:
    """A transaction in which every statement may be the last one."""

    def __init__(self, tx):
        self.tx = tx

    def __getattr__(self, name):
        async def statement(*args, **given):
            await asyncio.sleep(0)
            return await getattr(self.tx, name)(*args, **given)

        return statement


async def cancel_often(memory):
    for _ in range(50):
        await cancel(memory, random.Random(), 120)
        for thread in ("t0", "t1", "t2"):
            await check_thread(memory, thread)


@pytest.mark.anyio
async def test_control_work_that_a_cancellation_ends_half_way_is_found_out(monkeypatch):
    with Memory.open("sqlite://") as memory:
        engine, turn = memory.engine, asyncio.Lock()

        async def awrite(work, *, tenant=None):
            async with turn:
                return await work(TornTx(SqliteTx(engine._connection, engine._sql)))

        monkeypatch.setattr(engine, "awrite", awrite)
        with pytest.raises((AssertionError, errors.PerdureError, apsw.Error)):
            await cancel_often(memory)


@pytest.mark.anyio
@pytest.mark.parametrize("shape", ["plain", "tools"])
async def test_cancelled_runs_of_an_agent_leave_a_thread_that_goes_on(watched, shape):
    chosen, _ = seeded()
    agent = agents.build(shape, watched.checkpointer)
    before = asyncio.all_tasks()
    for number in range(40):
        config = support.config(f"t{number % 5}")
        task = asyncio.ensure_future(agent.ainvoke(agents.human(), config))
        await asyncio.sleep(chosen.uniform(0, 0.03))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        state = await agent.aget_state(config)
        assert all(message.id for message in state.values.get("messages", []))
    for number in range(5):
        config = support.config(f"t{number}")
        # What a cancelled run left undone is for the application to settle; a new turn begins from a clean list.
        await agent.aupdate_state(config, {"messages": Overwrite([])}, as_node="model")
        done = await asyncio.wait_for(agent.ainvoke(agents.human(), config), LONG)
        assert (await agent.aget_state(config)).values == done
        history = [found.values async for found in agent.aget_state_history(config)]
        assert history[0] == done
    assert asyncio.all_tasks() == before


def guarded(target):
    """Run something that might block for ever, in a thread that can be left behind."""
    failed, done = [], threading.Event()

    def run():
        try:
            target()
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)
        done.set()

    threading.Thread(target=run, daemon=True).start()
    assert done.wait(LONG), "it hangs"
    if failed:
        raise failed[0]


def test_a_blocking_call_on_the_loops_thread_returns_while_async_calls_are_in_flight(watched):
    saver, store = watched.checkpointer, watched.store

    async def main():
        async def busy(number):
            conversation, where = Conversation(f"w{number}"), support.config(f"t{number}")
            for _ in range(10):
                where = await aput_step(saver, where, conversation)
                await saver.aget_tuple(where)
                await store.aput(("f",), str(number), {"n": number})

        tasks = [asyncio.create_task(busy(number)) for number in range(16)]
        for at in range(40):
            await asyncio.sleep(0)
            support.put(saver, support.config("blocking"), {"n": at})
            assert support.values_of(saver, support.config("blocking")) == {"n": at}
            store.put(("blocking",), "k", {"n": at})
            assert store.get(("blocking",), "k").value == {"n": at}
        await asyncio.gather(*tasks)
        for number in range(16):
            assert len(await check_thread(watched, f"t{number}")) == 10

    guarded(lambda: asyncio.run(main()))


def test_two_event_loops_share_one_memory(watched):
    saver = watched.checkpointer

    async def main(name):
        conversation, where = Conversation(name), support.config("shared")
        for _ in range(20):
            where = await aput_step(saver, where, conversation)
            await saver.aget_tuple(support.config("shared"))

    threads = [threading.Thread(target=lambda n=n: asyncio.run(main(f"w{n}")), daemon=True) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive(), "it hangs"
    assert len(asyncio.run(check_thread(watched, "shared"))) == 40


def test_a_memory_outlives_the_event_loop_it_was_first_used_in(watched):
    saver = watched.checkpointer

    async def main(number):
        support.put(saver, support.config("t"), {"n": number})
        assert (await saver.aget_tuple(support.config("t"))).checkpoint["channel_values"] == {"n": number}

    guarded(lambda: [asyncio.run(main(number)) for number in range(3)])


def test_a_loop_that_is_closed_with_calls_in_flight_leaves_the_memory_usable(watched):
    saver = watched.checkpointer

    def abandon(number):
        loop = asyncio.new_event_loop()
        tasks = [
            loop.create_task(aput_step(saver, support.config("t"), Conversation(f"w{number} {at}"))) for at in range(8)
        ]
        tasks += [loop.create_task(saver.aget_tuple(support.config("t"))) for _ in range(8)]
        loop.run_until_complete(asyncio.sleep(0))
        time.sleep(random.uniform(0, 0.002))
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()

    def main():
        for number in range(20):
            abandon(number)
            support.put(saver, support.config("after"), {"n": number})
        asyncio.run(check_thread(watched, "t"))

    guarded(main)
