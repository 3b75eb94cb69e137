"""Many that change the same items at once, in threads, tasks and processes: nobody's change is lost."""

from __future__ import annotations

import asyncio
import threading

import pytest
from tests.engine import processes

from perdure import Memory, errors

SPACE = ("f",)
AT_ONCE = 40
EACH = 10
pytestmark = pytest.mark.filterwarnings("error")


def in_threads(work, count=AT_ONCE):
    failed, ready = [], threading.Barrier(count)

    def run(number):
        try:
            ready.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if failed:
        raise failed[0]


async def in_tasks(work, count=AT_ONCE):
    await asyncio.gather(*(work(number) for number in range(count)))


def number(memory, key="k"):
    return memory.store.get(SPACE, key).value["value"]


def add_one(value):
    return {"value": value["value"] + 1}


def bare(memory):
    """Add one without any protection, for the controls."""
    found = memory.store.get(SPACE, "k")
    memory.store.put(SPACE, "k", {"value": (found.value["value"] if found else 0) + 1})


def required(memory):
    """Add one with what a caller has: a version that is required, until it holds."""
    while True:
        found = memory.store.get(SPACE, "k")
        try:
            if found is None:
                return memory.store.put(SPACE, "k", {"value": 1}, if_absent=True)
            return memory.store.put(SPACE, "k", {"value": found.value["value"] + 1}, if_version=found.version)
        except errors.VersionConflictError:
            continue


WAYS = {
    "increment": lambda memory: memory.store.increment(SPACE, "k"),
    "update": lambda memory: memory.store.update(SPACE, "k", add_one, default={"value": 0}),
}


@pytest.mark.parametrize("way", sorted(WAYS))
def test_threads_that_add_to_one_number_lose_nothing(roomy, way):
    def work(_):
        for _ in range(EACH):
            WAYS[way](roomy)

    in_threads(work)
    assert number(roomy) == AT_ONCE * EACH


def test_threads_that_require_a_version_lose_nothing(roomy):
    in_threads(lambda _: required(roomy), 64)
    assert number(roomy) == 64


def test_control_threads_that_read_and_put_lose_counts(roomy):
    def work(_):
        for _ in range(EACH):
            bare(roomy)

    in_threads(work)
    assert number(roomy) < AT_ONCE * EACH


@pytest.mark.anyio
@pytest.mark.parametrize("way", sorted(WAYS))
async def test_tasks_that_add_to_one_number_lose_nothing(roomy, way):
    async def slowly(value):
        await asyncio.sleep(0)
        return add_one(value)

    async def work(_):
        for _ in range(EACH):
            if way == "increment":
                await roomy.store.aincrement(SPACE, "k")
            else:
                await roomy.store.aupdate(SPACE, "k", slowly, default={"value": 0})

    await in_tasks(work)
    assert number(roomy) == AT_ONCE * EACH


@pytest.mark.anyio
async def test_control_tasks_that_read_and_put_lose_counts(roomy):
    async def work(_):
        for _ in range(EACH):
            found = await roomy.store.aget(SPACE, "k")
            await roomy.store.aput(SPACE, "k", {"value": (found.value["value"] if found else 0) + 1})

    await in_tasks(work)
    assert number(roomy) < AT_ONCE * EACH


PROCESS = """
from tests.faults.test_store_races import WAYS, bare, required
way, count = rest
memory = Memory.open(url if url.startswith("postgres") else url + "?timeout=60", sweep="off")
add = {**WAYS, "bare": bare, "required": required}[way]
say("ready")
hear()
for _ in range(int(count)):
    add(memory)
memory.close()
"""


def in_processes(url, way, count=100):
    Memory.open(url).close()
    started = [processes.start(PROCESS, url, way, str(count)) for _ in range(4)]
    for process in started:
        assert process.heard() == "ready"
    for process in started:
        process.tell()
    for process in started:
        process.end()
    with Memory.open(url) as memory:
        return number(memory)


@pytest.mark.parametrize("way", [*sorted(WAYS), "required"])
def test_processes_that_add_to_one_number_lose_nothing(shared_url, way):
    assert in_processes(shared_url, way) == 400


def test_control_processes_that_read_and_put_lose_counts(shared_url):
    assert in_processes(shared_url, "bare") < 400


# One of many


def test_of_many_that_require_absence_one_wins(roomy):
    for turn in range(5):
        won, lost = [], []

        def work(number, turn=turn, won=won, lost=lost):
            try:
                roomy.store.put(SPACE, f"k{turn}", {"value": number}, if_absent=True)
                won.append(number)
            except errors.VersionConflictError as error:
                lost.append(error.current.value["value"])

        in_threads(work, 16)
        assert len(won) == 1
        assert lost == won * 15
        assert number(roomy, f"k{turn}") == won[0]


def test_a_quota_is_taken_as_often_as_it_allows(roomy):
    done, refused = [], []

    def work(_):
        try:
            done.append(roomy.store.increment(SPACE, "k", at_most=3))
        except errors.LimitReachedError as error:
            refused.append(error.current)

    in_threads(work, 10)
    assert sorted(done) == [1, 2, 3]
    assert refused == [3] * 7


def test_a_history_has_every_version_of_a_race(roomy):
    roomy.store.set_policy((), history=True)

    def work(number):
        for turn in range(EACH):
            roomy.store.put(SPACE, "k", {"value": number})
            if turn == EACH // 2:
                roomy.store.delete(SPACE, "k")

    in_threads(work, 8)
    assert len(roomy.store.history(SPACE, "k", limit=1000)) == 8 * EACH


def test_batches_in_other_orders_do_not_wait_for_each_other(roomy):
    from perdure import Put  # noqa: PLC0415 - as a caller imports it

    for key in "abc":
        roomy.store.put(SPACE, key, {"value": 0})
    done = []

    def work(number):
        keys = "abc" if number % 2 else "cba"
        while True:
            found = {key: roomy.store.get(SPACE, key) for key in keys}
            try:
                roomy.store.batch([Put(SPACE, k, add_one(found[k].value), if_version=found[k].version) for k in keys])
            except errors.VersionConflictError:
                continue
            done.append(number)
            return

    in_threads(work, 12)
    assert [number(roomy, key) for key in "abc"] == [12, 12, 12]


# Loops


def test_loops_in_two_threads_change_one_item(roomy):
    async def work(_):
        await roomy.store.aupdate(SPACE, "k", add_one, default={"value": 0})

    in_threads(lambda _: asyncio.run(in_tasks(work, 20)), 2)
    assert number(roomy) == 40


def test_a_loop_that_died_in_the_middle_of_an_update_leaves_the_store_working(roomy):
    async def forever(_):
        await asyncio.sleep(3600)

    async def die():
        task = asyncio.ensure_future(roomy.store.aupdate(SPACE, "k", forever, default={"value": 0}))
        await asyncio.sleep(0.05)
        assert not task.done()

    asyncio.run(die())
    assert roomy.store.update(SPACE, "k", add_one, default={"value": 0}).value == {"value": 1}
    assert asyncio.run(roomy.store.aupdate(SPACE, "k", add_one)).value == {"value": 2}


@pytest.mark.anyio
async def test_a_cancelled_call_leaves_the_store_working(roomy):
    holding = asyncio.Event()

    async def hold(value):
        holding.set()
        await asyncio.sleep(3600)
        return value

    held = asyncio.ensure_future(roomy.store.aupdate(SPACE, "k", hold, default={"value": 0}))
    await holding.wait()
    waiting = [asyncio.ensure_future(roomy.store.aupdate(SPACE, "k", add_one, default={"value": 0})) for _ in range(5)]
    await asyncio.sleep(0.02)
    waiting[1].cancel()
    held.cancel()
    found = await asyncio.gather(held, *waiting, return_exceptions=True)
    assert [type(one) for one in found if isinstance(one, BaseException)] == [asyncio.CancelledError] * 2
    assert (await roomy.store.aget(SPACE, "k")).value == {"value": 4}
