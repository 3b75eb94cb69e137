"""kill -9 at random moments of a process that writes from several threads: nothing acknowledged is lost or torn.

With `synchronous=OFF` a killed process loses nothing either, since the kernel lives on: that control is test_power's.
"""

from __future__ import annotations

import os
import random
import select
import time

import pytest
from tests.engine import processes
from tests.faults.promises import Promises, broken, sound

from perdure import Memory

PROGRAM = """
from tests.faults.promises import keep_writing
memory = Memory.open(url)
lock = threading.Lock()
def acknowledge(*words):
    with lock:
        os.write(1, ("\\t".join(map(str, words)) + "\\n").encode())
for number in range(4):
    given = (memory, f"{rest[0]} {number}", acknowledge)
    threading.Thread(target=keep_writing, args=given, kwargs={"early": rest[1] == "early"}).start()
threading.Event().wait()
"""


def killed(url, number, *, acknowledge="in time"):
    """Start the program, kill it at some moment, and return what it had acknowledged."""
    process = processes.start(PROGRAM, url, str(number), acknowledge)
    fd = process.stdout.fileno()
    said = bytearray()
    if number % 5:
        assert select.select([fd], [], [], 60)[0], "it said nothing"
    deadline = time.monotonic() + random.uniform(0, 0.15 if number % 5 else 0.03)
    while (left := deadline - time.monotonic()) > 0:
        if select.select([fd], [], [], left)[0]:
            said += os.read(fd, 1 << 16)
    os.kill(process.pid, 9)
    while data := os.read(fd, 1 << 16):
        said += data
    process.kill()
    return [line.split("\t") for line in said.decode().split("\n")[:-1]]


def rounds(url, count):
    acknowledged, everything = 0, []
    for number in range(count):
        lines = killed(url, number)
        acknowledged += len(lines)
        promises = Promises(lines)
        with Memory.open(url) as memory:
            assert broken(memory, promises) == []
        everything.append(promises)
        if number % 10 == 0:
            assert sound(url)
    assert sound(url)
    assert acknowledged > 10 * count
    with Memory.open(url) as memory:
        for promises in everything:
            assert broken(memory, promises) == []


def test_a_hundred_killed_processes_lose_nothing_and_leave_nothing_torn(file_url):
    rounds(file_url, 100)


@pytest.mark.long
def test_a_thousand_killed_processes_lose_nothing_and_leave_nothing_torn(file_url):
    rounds(file_url, 1000)


def test_control_a_process_that_acknowledges_before_it_commits_is_found_out(file_url):
    for number in range(50):
        promises = Promises(killed(file_url, number, acknowledge="early"))
        with Memory.open(file_url) as memory:
            if broken(memory, promises):
                return
    pytest.fail("a loss was not noticed")
