"""Many threads and processes at the same threads of one file: every checkpoint is what was put, or is gone."""

from __future__ import annotations

import random
import sys
import threading
import uuid

import pytest
from langchain_core.messages import HumanMessage
from tests import support
from tests.engine import processes
from tests.faults.conversations import Conversation, Expectations, keep_talking, put_step

from perdure import Memory, errors
from perdure.core.entries import Cache, Slot
from perdure.core.unit import Unit
from perdure.langgraph import configs

LONG = 120


@pytest.fixture(autouse=True)
def _restless():
    """Let threads take turns as often as they can, so that what may interleave does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(*targets):
    """Run all at once and raise the first error."""
    failed = []

    def guarded(target):
        try:
            target()
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(target,)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive(), "it hangs"
    if failed:
        raise failed[0]


def check_everything(url, memory=None):
    """Read every checkpoint there is, and return those of each thread, oldest first."""
    expectations, found = Expectations(), {}
    opened = memory or Memory.open(url)
    try:
        for item in opened.checkpointer.list(None):
            thread = item.config["configurable"]["thread_id"]
            found.setdefault(thread, []).insert(0, expectations.check(item))
    finally:
        if memory is None:
            opened.close()
    return found


@pytest.mark.parametrize("shared", [True, False])
def test_threads_that_put_growing_conversations_read_back_exactly_those(url, shared):
    done = {}

    def talk(memory, number):
        thread = "shared" if shared else f"t{number}"
        steps = keep_talking(memory, thread, f"w{number}", 40, alone=not shared)
        done[number] = [where["configurable"]["checkpoint_id"] for where in steps]

    with Memory.open(url) as memory:
        in_threads(*(lambda number=number: talk(memory, number) for number in range(8)))
        found = check_everything(url, memory)
    if url != "sqlite://":
        assert check_everything(url) == found
    rows = [row for thread in found.values() for row in thread]
    for number in range(8):
        mine = [id_ for writer, _, id_ in rows if writer == f"w{number}"]
        assert mine == done[number], "all of them, in the order they were put"


def disturb(memory, threads, rounds, chosen):
    """Prune, delete and copy what others are writing."""
    saver = memory.checkpointer
    for number in range(rounds):
        thread = chosen.choice(threads)
        what = chosen.random()
        if what < 0.45:
            saver.prune([thread])
        elif what < 0.55:
            saver.delete_thread(thread)
        elif what < 0.75:
            saver.copy_thread(thread, f"copy {number} {chosen.random()}")
        else:
            runs = [found.metadata.get("run_id") for found in saver.list(support.config(thread), limit=1)]
            saver.delete_for_runs([run for run in runs if run])


def test_what_is_pruned_deleted_and_copied_meanwhile_leaves_every_checkpoint_whole(url):
    threads = ["a", "b"]

    def talk(memory, number):
        for _ in keep_talking(memory, threads[number % 2], f"w{number}", 40):
            pass

    with Memory.open(url) as memory:
        in_threads(
            *(lambda number=number: talk(memory, number) for number in range(6)),
            lambda: disturb(memory, threads, 40, random.Random()),
        )
        found = check_everything(url, memory)
    if url != "sqlite://":
        assert check_everything(url) == found


PROCESS = """
import random
from tests.faults.conversations import keep_talking
from tests.faults.test_races import disturb, in_threads
memory = Memory.open(url if url.startswith("postgres") else url + "?timeout=60")
sys.setswitchinterval(1e-4)
name, disturbing = rest
def talk(number):
    for where in keep_talking(memory, f"t{number}", f"{name}{number}", 30):
        say(f"t{number}", where["configurable"]["checkpoint_id"])
others = [lambda: disturb(memory, ["t0", "t1"], 25, random.Random())] if disturbing == "yes" else []
in_threads(lambda: talk(0), lambda: talk(1), *others)
"""


@pytest.mark.parametrize("disturbing", ["no", "yes"])
def test_processes_on_the_same_threads_of_one_database_leave_every_checkpoint_whole(shared_url, disturbing):
    started = [processes.start(PROCESS, shared_url, name, disturbing) for name in ("x", "y", "z")]
    said = [line.split() for process in started for line in process.end().split("\n") if line]
    found = check_everything(shared_url)
    assert said
    if disturbing == "no":
        rows = {(thread, id_) for thread, listed in found.items() for _, _, id_ in listed}
        assert {(thread, id_) for thread, id_ in said} <= rows


@pytest.mark.long
@pytest.mark.parametrize("round_", range(30))
def test_longer_races_leave_every_checkpoint_whole(shared_url, round_):
    threads = ["a", "b", "c"]

    def talk(memory, number):
        for _ in keep_talking(memory, threads[number % 3], f"w{number}", 120):
            pass

    with Memory.open(shared_url) as memory:
        in_threads(
            *(lambda number=number: talk(memory, number) for number in range(8)),
            lambda: disturb(memory, threads, 60, random.Random()),
        )
    check_everything(shared_url)


def test_threads_that_remember_entries_of_one_log_at_once_keep_its_order():
    """Two that lengthen the beginning of a log at once must not enter one twice and leave the next one out."""
    for _ in range(60):
        cache = Cache(1, 0)
        slots = [[Slot(b"%d" % pos) for pos in range(200)] for _ in range(4)]

        def place(mine, cache=cache):
            for pos, slot in enumerate(mine):
                cache.place(slot, 0, pos)

        in_threads(*(lambda mine=mine: place(mine) for mine in slots))
        assert [slot.pos for slot in cache.run(0, 0, 200)] == list(range(200))


def job_of(memory, where, message):
    """Return the id of a checkpoint with one message, and the work that stores it."""
    made = support.checkpoint({"messages": [message]})
    saver = memory.checkpointer
    address = configs.address(memory._calls.scope, where)
    job = saver._put(address, where, made, support.metadata(1), made["channel_versions"])(False)
    return made["id"], lambda tx: job(Unit(tx, "default", 1))


def test_work_that_is_run_again_does_not_point_to_what_was_undone(file_url):
    """A batch whose leader is interrupted is undone; those who waited have their work run again."""
    text = "long enough to become an entry of its own, " * 5
    named = HumanMessage(text, id=str(uuid.uuid4()))
    with Memory.open(file_url) as memory:
        where = support.put(memory.checkpointer, support.config("t"), {"n": 0})
        _, bare_work = job_of(memory, where, HumanMessage(text))
        id_, named_work = job_of(memory, where, named)
        _, other_work = job_of(memory, where, HumanMessage("somebody else's " * 20))

        async def undone(tx):
            await bare_work(tx)
            await named_work(tx)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            memory.engine.write(undone)
        memory.engine.write(other_work)
        memory.engine.write(named_work)
    with Memory.open(file_url) as memory:
        assert support.values_of(memory.checkpointer, support.config("t", id_)) == {"messages": [named]}


def test_control_a_state_that_is_not_what_was_put_is_noticed(file_url):
    with Memory.open(file_url) as memory:
        conversation = Conversation("w")
        where = support.config("t")
        for _ in range(12):
            where = put_step(memory.checkpointer, where, conversation)
        check_everything(file_url, memory)
        run = memory._calls.caches.last("default", "t").logs
        first, second = (run[log][pos] for log, pos in [(log, pos) for log in run for pos in run[log]][:2])
        first.packed, second.packed = second.packed, first.packed
        first.obj = second.obj = None
        with pytest.raises((AssertionError, errors.PerdureError)):
            check_everything(file_url, memory)
