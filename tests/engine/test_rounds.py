"""Jobs in the background: begun by changes, ended by close, and never in the way."""

from __future__ import annotations

import gc
import threading
import time

import pytest
from tests import clocks, inside
from tests.engine import processes

from perdure import Memory, errors
from perdure.engine.rounds import Rounds

MANY = 10**6


def running():
    return [thread for thread in threading.enumerate() if thread.name == "perdure-rounds"]


def soon(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


@pytest.fixture
def make():
    made = []

    def rounds(**jobs):
        made.append(Rounds(jobs, seconds=0.01, pause=0.0))
        return made[-1]

    yield rounds
    for one in made:
        one.close()
    assert running() == []


def test_a_thread_begins_with_enough_changes_or_one_that_is_urgent(make):
    first, second, done = make(job=lambda: False), make(job=lambda: done.append(1)), []
    first.notice(19, urgent=False)
    assert running() == []
    first.notice(1, urgent=False)
    assert len(running()) == 1
    second.notice(0, urgent=True)
    assert soon(lambda: done)
    assert len(running()) == 2


def test_a_job_is_called_until_it_has_nothing_more_to_do_and_one_that_fails_is_called_again(make, caplog):
    left, raised = [1, 2, 3], [errors.DatabaseLockedError("secret"), ValueError("secret")]

    def fail():
        if raised:
            raise raised.pop(0)

    rounds = make(failing=fail, working=lambda: bool(left and left.pop()))
    for _ in range(2):
        rounds.turn()
    assert (left, raised) == ([], [])
    assert [record.getMessage().split(": ")[1] for record in caplog.records] == ["database_locked", "ValueError"]
    assert "secret" not in caplog.text


def test_close_ends_the_thread_though_a_job_has_no_end(make):
    rounds = make(job=lambda: True)
    rounds.notice(1, urgent=True)
    began = time.monotonic()
    rounds.close()
    assert running() == []
    assert time.monotonic() - began < 2
    rounds.notice(MANY, urgent=True)
    assert running() == [], "nothing begins after close"


def test_rounds_that_nobody_holds_any_more_end():
    rounds = Rounds({"job": lambda: False}, seconds=0.01)
    rounds.notice(1, urgent=True)
    assert len(running()) == 1
    del rounds
    gc.collect()
    assert soon(lambda: running() == [])


# A memory's


def hasty(memory, clock):
    """Return a memory whose rounds go by another clock, and quickly."""
    calls, rounds = memory._calls, memory._rounds
    made = clocks.clocked(memory, clock)
    rounds._round.seconds, rounds._round.pause = 0.01, 0.0
    sweep = rounds._round.jobs["the sweep"].__self__
    sweep._calls = made._calls
    assert calls.notice is made._calls.notice
    return made


def count(memory, table="items"):
    return inside.value(memory, f"SELECT count(*) FROM {table}")


def test_a_memory_sweeps_by_itself_what_has_expired(memory):
    clock = clocks.Clock()
    timed = hasty(memory, clock)
    timed.store.set_policy((), history=True)
    for tenant in ("default", "other"):
        store = timed.scope(tenant=tenant).store
        store.put(("f",), "k", {"n": 1}, ttl=1)
        store.put(("f",), "k", {"n": 2}, ttl=1)
        store.put(("f",), "kept", {})
    clock.forward(1)
    assert soon(lambda: (count(memory), count(memory, "item_versions")) == (2, 0))
    memory.close()
    assert running() == []


def test_a_memory_that_only_reads_or_is_told_not_to_has_no_thread(url):
    for sweep in ("auto", "off"):
        with Memory.open(url, sweep=sweep) as memory:
            for key in "ab":
                memory.store.get(("f",), key)
                memory.store.search(("f",))
            assert running() == []
            memory.store.put(("f",), "k", {}, ttl=1)
            assert len(running()) == (sweep == "auto")
        assert running() == []
    with pytest.raises(errors.ConfigurationError, match="sweep"):
        Memory.open(url, sweep="on")


def test_a_policy_that_gives_a_time_to_live_begins_the_thread(memory):
    memory.store.set_policy((), history=True)
    assert running() == []
    memory.store.set_policy((), ttl=1)
    assert len(running()) == 1


@pytest.mark.anyio
async def test_an_async_close_ends_the_thread_as_well(url):
    async with Memory.open(url) as memory:
        await memory.store.aput(("f",), "k", {}, ttl=1)
        assert len(running()) == 1
    assert running() == []


def test_the_log_of_changes_is_trimmed_to_its_newest_rows(memory, monkeypatch):
    monkeypatch.setattr("perdure.core.changes.KEPT_CHANGES", 10)
    monkeypatch.setattr("perdure.core.changes.TRIMMED_AT_ONCE", 7)
    order = "n" if memory.engine.kind == "sqlite" else "tx, n"
    for number in range(40):
        memory.store.put(("f",), str(number), {})
        if number == 20:
            memory._rounds.turn()
    # PostgreSQL: not before the transactions of the server's other users have ended that were there.
    assert soon(lambda: memory._rounds.turn() or count(memory, "item_changes") == 11, 60)
    rows = inside.rows(memory, f"SELECT item FROM item_changes ORDER BY {order}")
    assert rows[0] == (None,), "it says that something was trimmed"
    assert all(item is not None for (item,) in rows[1:])
    memory._rounds.turn()
    assert inside.rows(memory, f"SELECT item FROM item_changes ORDER BY {order}") == rows
    memory.store.put(("f",), "new", {})
    assert soon(lambda: memory.store.sweep() or count(memory, "item_changes") == 11, 60)


FORKING = """
def threads():
    return [t.name for t in threading.enumerate() if t.name == "perdure-rounds"]
memory = Memory.open(url)
memory.store.put(("f",), "k", {}, ttl=1)
assert threads()
pid = os.fork()
if not pid:
    assert not threads()
    memory.store.put(("f",), "child", {}, ttl=1)
    assert threads()
    memory.close()
    os._exit(0 if not threads() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert threads()
assert memory.store.count() == 2
say("both")
"""


def test_a_forked_child_has_a_thread_of_its_own_when_it_needs_one(shared_url):
    assert processes.run(FORKING, shared_url) == "both"


LEAVING = """
memory = Memory.open(url)
memory.store.put(("f",), "k", {}, ttl=1)
"""


def test_an_interpreter_that_ends_without_close_is_not_held_up(shared_url):
    import subprocess  # noqa: PLC0415 - a whole interpreter, to its end
    import sys  # noqa: PLC0415 - as above

    text = f"from perdure import Memory\nurl = {shared_url!r}\n{LEAVING}"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, timeout=60, check=True)
    assert done.stderr == b""
