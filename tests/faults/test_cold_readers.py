"""The first requests of a busy server: many threads read a thread that the process does not know yet."""

from __future__ import annotations

import random
import sys
import threading

import pytest
from langchain_core.messages import HumanMessage
from tests.support import config, put

from perdure import Memory


@pytest.fixture
def hasty():
    """Let threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_many_threads_that_read_a_cold_thread_all_read_it_right(file_url, hasty):
    with Memory.open(file_url) as memory:
        saver, where, said, made = memory.checkpointer, config(), [], []
        for step in range(15):
            said = [*said, *(HumanMessage(f"{step} {n} " * 9, id=f"{step}-{n}") for n in range(60))]
            where = put(saver, where, {"messages": said}, versions={"messages": step}, step=step)
            made.append((where, len(said)))
        failures = []

        def read(seed):
            chance = random.Random(seed)
            for _ in range(8):
                memory._calls.caches.drop("default", "t1")
                at, length = chance.choice(made)
                try:
                    found = saver.get_tuple(at).checkpoint["channel_values"]["messages"]
                    assert found == said[:length]
                except Exception as error:  # noqa: BLE001 - collected, and shown below
                    failures.append(error)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert failures == []
