"""Group commit: who commits whose work, and what becomes of the others when one fails or goes away."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from contextlib import suppress

import pytest
from tests.engine import processes

from perdure import errors
from perdure.engine.sqlite import SqliteEngine
from perdure.engine.writer import Job, Writer

LONG = 60
"""Seconds after which a test that waits has failed."""


@pytest.fixture
def engine(file_url):
    opened = SqliteEngine(file_url)
    yield opened
    opened.close()


def add(name):
    async def work(tx):
        await tx.run("tag_put_alone", thread="t", tag=name)
        return name

    return work


@pytest.fixture(autouse=True)
def _statements(monkeypatch):
    """Statements of this test's own: rows of a table without parents, in the order they came."""
    from perdure.engine import sqlite, statements  # noqa: PLC0415 - beside what it changes

    own = {
        "tag_put_alone": "INSERT INTO migrations (name, checksum, applied_at) VALUES (:tag, '', "
        "(SELECT count(*) FROM migrations))",
        "tags_alone": "SELECT name FROM migrations WHERE checksum = '' ORDER BY applied_at",
    }
    monkeypatch.setattr(sqlite.statements, "load", lambda kind, known=statements.load: {**known(kind), **own})


def names(engine):
    async def work(tx):
        return [row[0] for row in await tx.all("tags_alone")]

    return engine.read(work)


class Gate:
    """Work that stays in its transaction until it is let go, so that others have to wait in line."""

    def __init__(self, engine, name="gate", error=None):
        self.inside, self._go = threading.Event(), threading.Event()
        self.failed = []

        async def work(tx):
            self.inside.set()
            assert self._go.wait(LONG)
            if error is not None:
                raise error
            await tx.run("tag_put_alone", tag=name)

        def run():
            try:
                engine.write(work)
            except BaseException as raised:  # noqa: BLE001 - looked at by the test
                self.failed.append(raised)

        self.thread = threading.Thread(target=run)
        self.thread.start()
        assert self.inside.wait(LONG)

    def open(self):
        self._go.set()
        self.thread.join(LONG)
        assert not self.thread.is_alive()


def started(target, *args):
    thread = threading.Thread(target=target, args=args)
    thread.start()
    return thread


def joined(*threads):
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive(), "it hangs"


def line_up(engine, count):
    """Wait until so many are in line."""
    deadline = time.monotonic() + LONG
    while len(engine._writer._line) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def commits_of(engine):
    found = []

    def hook():
        found.append(1)
        return False

    engine._connection.set_commit_hook(hook)
    return found


def test_a_lone_writer_commits_its_own_work_and_starts_no_thread(engine):
    commits = commits_of(engine)
    for number in range(10):
        assert engine.write(add(str(number))) == str(number)
    assert len(commits) == 10
    assert engine._writer._thread is None


def test_writes_that_come_during_a_commit_share_the_next_one(engine):
    commits = commits_of(engine)
    gate = Gate(engine)
    threads = [started(engine.write, add(str(number))) for number in range(32)]
    line_up(engine, 32)
    gate.open()
    joined(*threads)
    assert sorted(names(engine)) == sorted(["gate", *map(str, range(32))])
    assert len(commits) == 2


def test_an_error_undoes_its_own_job_alone(engine):
    async def bad(tx):
        await tx.run("tag_put_alone", tag="undone")
        raise LookupError("mine")

    outcomes = {}

    def write(number):
        try:
            outcomes[number] = engine.write(bad if number % 3 == 0 else add(str(number)))
        except LookupError as error:
            outcomes[number] = error

    gate = Gate(engine)
    threads = [started(write, number) for number in range(12)]
    line_up(engine, 12)
    gate.open()
    joined(*threads)
    good = [str(number) for number in range(12) if number % 3]
    assert sorted(names(engine)) == sorted(["gate", *good])
    assert all(isinstance(outcomes[number], LookupError) == (number % 3 == 0) for number in range(12))


def test_a_statement_that_sqlite_refuses_is_the_same_typed_error_alone_and_in_a_batch(engine):
    engine.write(add("once"))
    with pytest.raises(errors.DatabaseError, match="report this"):
        engine.write(add("once"))
    failed = []

    def write():
        with pytest.raises(errors.DatabaseError, match="report this") as found:
            engine.write(add("once"))
        failed.append(found)

    gate = Gate(engine)
    threads = [started(write) for _ in range(3)]
    line_up(engine, 3)
    gate.open()
    joined(*threads)
    assert len(failed) == 3
    assert names(engine) == ["once", "gate"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()])
def test_a_leader_that_is_interrupted_leaves_the_others_served(engine, error):
    gate = Gate(engine, error=error)
    threads = [started(engine.write, add(str(number))) for number in range(8)]
    line_up(engine, 8)
    gate.open()
    joined(*threads)
    assert gate.failed == [error]
    assert sorted(names(engine)) == sorted(map(str, range(8)))
    engine.write(add("after"))


def test_a_leader_of_many_that_is_interrupted_leaves_the_others_served(engine):
    async def interrupted(tx):
        await tx.run("tag_put_alone", tag="undone")
        raise KeyboardInterrupt

    def write():
        with pytest.raises(KeyboardInterrupt):
            engine.write(interrupted)

    gate = Gate(engine)
    first = started(write)
    line_up(engine, 1)
    threads = [started(engine.write, add(str(number))) for number in range(8)]
    line_up(engine, 9)
    gate.open()
    joined(first, *threads)
    assert sorted(names(engine)) == sorted(["gate", *map(str, range(8))])


class Interrupting:
    """A connection whose second COMMIT is followed by a Ctrl-C, as one that comes while it runs is."""

    def __init__(self, real):
        self.real = real
        self.commits = 0

    def __getattr__(self, name):
        return getattr(self.real, name)

    def execute(self, sql, *args):
        found = self.real.execute(sql, *args)
        if sql == "COMMIT":
            self.commits += 1
            if self.commits == 2:
                raise KeyboardInterrupt
        return found


def test_work_that_was_committed_before_its_leader_was_interrupted_is_not_done_twice(engine):
    runs, interrupted = [], []

    def write(name):
        async def work(tx):
            runs.append(name)
            await tx.run("tag_put_alone", tag=name)

        try:
            engine.write(work)
        except KeyboardInterrupt:
            interrupted.append(name)

    real, engine._connection = engine._connection, Interrupting(engine._connection)
    gate = Gate(engine)
    threads = [started(write, str(number)) for number in range(6)]
    line_up(engine, 6)
    gate.open()
    joined(*threads)
    engine._connection = real
    assert sorted(runs) == sorted(map(str, range(6)))
    assert len(interrupted) == 1
    assert sorted(names(engine)) == sorted(["gate", *map(str, range(6))])


INTERRUPTED = """
import random, signal
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
memory = Memory.open(url)
stop = threading.Event()
counts = [0] * 3
def write(number):
    while not stop.is_set():
        memory.store.put(("threads", str(number)), str(counts[number]), {"n": counts[number]})
        counts[number] += 1
threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(3)]
for thread in threads:
    thread.start()
chosen = random.Random(int(rest[1]))
interrupts = done = 0
acknowledged = []
while interrupts < int(rest[0]):
    try:
        # Again after a while, should a destructor have swallowed it.
        signal.setitimer(signal.ITIMER_REAL, chosen.uniform(0.00005, 0.004), 0.2)
        while True:
            memory.store.put(("main",), str(done), {"n": done})
            acknowledged.append(done)
            done += 1
            if done % 7 == 0:
                memory.store.get(("main",), str(done - 1))
    except KeyboardInterrupt:
        interrupts += 1
        done += 1
signal.setitimer(signal.ITIMER_REAL, 0)
before = list(counts)
deadline = time.monotonic() + 60
while any(now <= then for now, then in zip(counts, before)):
    assert time.monotonic() < deadline, "somebody waits for ever"
    time.sleep(0.01)
stop.set()
for thread in threads:
    thread.join(60)
    assert not thread.is_alive()
for number in acknowledged:
    assert memory.store.get(("main",), str(number)).value == {"n": number}
for number, count in enumerate(counts):
    assert memory.store.count(("threads", str(number))) == count
memory.close()
say(len(acknowledged), *counts)
"""


def interrupt(url, times):
    said = processes.start(INTERRUPTED, url, str(times), str(random.randrange(10**6))).end(timeout=600)
    assert len(said.split()) == 4


def test_ctrl_c_at_any_moment_of_a_write_leaves_the_memory_usable(url):
    """The handler of a timer raises what Ctrl-C would; the others write on."""
    interrupt(url, 150)


@pytest.mark.long
def test_ten_thousand_interrupts_leave_the_memory_usable(url):
    interrupt(url, 10_000)


def test_a_caller_that_is_interrupted_in_line_is_not_waited_for(engine):
    """A waiter that is given the lead after it has gone would keep everybody else waiting."""
    gate = Gate(engine)

    class Leaving(Job):
        def wait(self, timeout=-1):
            raise KeyboardInterrupt

    def leave():
        with pytest.raises(KeyboardInterrupt):
            engine._writer.run(Leaving(add("gone")))

    first = started(leave)
    joined(first)
    threads = [started(engine.write, add(str(number))) for number in range(4)]
    line_up(engine, 5)
    gate.open()
    joined(*threads)
    assert sorted(names(engine)) == sorted(["gate", *map(str, range(4))])


def test_what_is_cancelled_before_it_began_is_not_done_and_holds_nobody_up(engine):
    gate = Gate(engine)

    async def main():
        tasks = [asyncio.create_task(engine.awrite(add(str(number)))) for number in range(6)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.to_thread(gate.open)
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), LONG)

    found = asyncio.run(main())
    assert [isinstance(one, asyncio.CancelledError) for one in found] == [True, False] * 3
    engine.write(add("after"))
    assert names(engine) == ["gate", "1", "3", "5", "after"]


def test_closing_serves_those_in_line_and_refuses_the_rest(engine):
    gate = Gate(engine)
    threads = [started(engine.write, add(str(number))) for number in range(5)]
    line_up(engine, 5)
    closer = started(engine.close)
    deadline = time.monotonic() + LONG
    while not engine._writer._closed:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    with pytest.raises(errors.ClosedError):
        engine.write(add("late"))
    assert closer.is_alive()
    gate.open()
    joined(closer, *threads)
    again = SqliteEngine(engine.url)
    try:
        assert sorted(names(again)) == sorted(["gate", *map(str, range(5))])
    finally:
        again.close()


@pytest.mark.anyio
async def test_closing_on_the_loops_thread_serves_its_tasks_in_line(engine):
    gate = Gate(engine)
    tasks = [asyncio.create_task(engine.awrite(add(str(number)))) for number in range(5)]
    await asyncio.sleep(0)
    line_up(engine, 5)
    opener = threading.Timer(0.05, gate.open)
    opener.start()
    engine.close()
    assert await asyncio.wait_for(asyncio.gather(*tasks), LONG) == list(map(str, range(5)))
    opener.join()
    await asyncio.sleep(0)


@pytest.mark.parametrize("place", ["file", "memory"])
def test_threads_and_tasks_at_once_are_all_served(file_url, place):
    engine = SqliteEngine(file_url if place == "file" else "sqlite://")
    done = []

    def block(number):
        done.extend(engine.write(add(f"thread {number} {at}")) for at in range(8))

    async def tasks():
        async def one(number):
            done.extend([await engine.awrite(add(f"task {number} {at}")) for at in range(8)])

        await asyncio.wait_for(asyncio.gather(*map(one, range(64))), LONG)

    threads = [started(block, number) for number in range(64)]
    asyncio.run(tasks())
    joined(*threads)
    found = names(engine)
    engine.close()
    assert len(found) == len(set(found)) == len(done) == 2 * 64 * 8
    for kind in ("thread", "task"):
        for number in range(64):
            mine = [int(name.rpartition(" ")[2]) for name in found if name.startswith(f"{kind} {number} ")]
            assert mine == list(range(8)), "each keeps its own order"


def test_writes_sent_by_one_loop_are_done_in_the_order_they_were_sent(engine):
    async def main():
        await asyncio.gather(*(engine.awrite(add(str(number))) for number in range(200)))

    asyncio.run(main())
    assert names(engine) == list(map(str, range(200)))


def test_a_writer_that_can_start_no_thread_serves_async_callers_anyway(engine, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert asyncio.run(engine.awrite(add("inline"))) == "inline"
    assert names(engine) == ["inline"]


class Stress:
    """A writer over a pretended commit, so that thousands of rounds fit: it fails, is slow, or is interrupted."""

    rounds = 60

    def __init__(self, seed):
        self.chosen = random.Random(seed)
        self.served, self.outcomes = [], []
        self.writer = Writer(self.commit, "stress")

    def commit(self, batch):
        if self.chosen.random() < 0.1:
            time.sleep(0.0005)
        for job in batch:
            dice = self.chosen.random()
            if dice < 0.03:
                raise KeyboardInterrupt
            if dice < 0.06:
                job.settle(None, LookupError())
            else:
                self.served.append(job.work)
                job.settle(job.work)

    def block(self, number):
        for at in range(self.rounds):
            outcome = None
            with suppress(KeyboardInterrupt, LookupError):
                outcome = self.writer.run(Job((number, at)))
            self.outcomes.append(outcome)

    async def task(self, number):
        loop = asyncio.get_running_loop()
        for at in range(self.rounds):
            future = loop.create_future()
            self.writer.send(Job((number, at), (loop, future)))
            outcome = None
            with suppress(KeyboardInterrupt, LookupError, TimeoutError):
                async with asyncio.timeout(0.0002 if self.chosen.random() < 0.1 else LONG):
                    outcome = await future
            self.outcomes.append(outcome)

    async def tasks(self):
        await asyncio.wait_for(asyncio.gather(*(self.task(100 + number) for number in range(8))), LONG)


@pytest.mark.parametrize("seed", range(5))
def test_nobody_in_line_is_forgotten_whatever_fails_or_leaves(seed):
    stress = Stress(seed)
    threads = [started(stress.block, number) for number in range(8)]
    asyncio.run(stress.tasks())
    joined(*threads)
    assert len(stress.outcomes) == 16 * stress.rounds
    assert len(stress.served) == len(set(stress.served)), "work is done once"
    deadline = time.monotonic() + LONG
    while stress.writer._leader is not None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert {outcome for outcome in stress.outcomes if outcome} <= set(stress.served)
    assert stress.writer._leader is None
    assert not stress.writer._line
    stress.writer.close()
