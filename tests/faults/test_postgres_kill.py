"""Servers killed and restarted, connections ended, under four writers: nothing acknowledged is lost or torn."""

from __future__ import annotations

import random
import time

import pytest
from tests.faults import own, writers
from tests.faults.promises import broken

from perdure import Memory, errors

CALL, WAIT = 5.0, 5.0
LIMIT = CALL + WAIT + CALL / 4 + 5.0
"""A call's time, its wait for a connection and for its lane, and a margin for a busy machine."""


@pytest.fixture(scope="module")
def mine():
    with own.server() as made:
        yield made


@pytest.fixture
def url(mine):
    return mine.database()


def kill(mine):
    mine.server.kill()
    time.sleep(random.uniform(0, 0.3))
    mine.server.start()


def restart(mine):
    mine.server.restart(random.choice(["fast", "immediate"]))


def freeze(mine):
    mine.server.freeze()
    time.sleep(CALL + 1)
    mine.server.thaw()


def end_one(mine):
    pids = sorted(mine.backends())
    if pids:
        mine.end([random.choice(pids)])


def disturbances(*, kills, restarts, ended, freezes=0):
    found = [kill] * kills + [restart] * restarts + [end_one] * ended + [freeze] * freezes
    random.shuffle(found)
    return found


def suffer(mine, url, plan):
    """Write while the plan is done, then read everything back."""

    def disturb(progress):
        for what in plan:
            progress()
            time.sleep(random.uniform(0, 0.05))
            what(mine)

    with own.watched(mine, url, call_timeout=CALL, timeout=WAIT) as memory:
        found = writers.work(memory, disturb)
        assert broken(memory, writers.promised(found)) == []
        slowest, count = max(writer.slowest for writer in found), sum(len(writer.journal) for writer in found)
        print(f"{count} calls acknowledged, the slowest took {slowest:.1f} s")  # noqa: T201 - figures to look at
        assert slowest < LIMIT
    with Memory.open(url) as memory:
        assert broken(memory, writers.promised(found)) == []
    return found


def test_killed_servers_and_ended_connections_lose_nothing_and_leave_nothing_torn(mine, url):
    found = suffer(mine, url, disturbances(kills=2, restarts=1, ended=10))
    assert any(writer.raised for writer in found), "nobody noticed anything"


@pytest.mark.long
def test_thirty_killed_servers_lose_nothing_and_leave_nothing_torn(mine, url):
    suffer(mine, url, disturbances(kills=30, restarts=3, ended=50, freezes=2))


def test_control_a_server_that_answers_before_it_writes_is_found_out(mine, url):
    mine.ask(f"ALTER ROLE {own.APPLICATION} SET synchronous_commit = off")
    try:
        for _ in range(10):
            with Memory.open(url, pool={"call_timeout": CALL, "timeout": WAIT}) as memory:
                found = writers.work(memory, lambda progress: (progress(), kill(mine)))
                if broken(memory, writers.promised(found)):
                    return
    except (AssertionError, errors.FencedError):
        return  # a writer itself has missed what it had been promised
    finally:
        mine.ask(f"ALTER ROLE {own.APPLICATION} RESET synchronous_commit")
    pytest.fail("a loss was not noticed")
