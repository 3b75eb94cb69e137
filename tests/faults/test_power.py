"""The power fails: whatever is left of the unsynced writes, what was acknowledged is there and nothing is torn."""

from __future__ import annotations

import shutil
import threading

import pytest
from tests.faults import disks
from tests.faults.promises import Promises, broken, keep_writing

from perdure import Memory, errors
from perdure.engine import files

EPISODES = 10


@pytest.fixture
def disk(request):
    made = disks.Disk(f"disk {request.node.nodeid}")
    yield made
    made.unregister()


def work(url, disk):
    """Write from several threads, with a log that is emptied often, close, open again and go on."""
    for part in ("a", "b"):
        with Memory.open(f"{url}?vfs={disk.name}") as memory:
            memory.engine._connection.wal_autocheckpoint(30 if part == "a" else 1000)
            threads = [
                threading.Thread(target=keep_writing, args=(memory, f"{part} {number}", disk.note), kwargs={"steps": 6})
                for number in range(3)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()


def faults_of(tmp_path, disk, count, *, episodes=EPISODES):
    """Return (how many images there were, what is wrong in them)."""
    chosen, seed = disks.seeded()
    looked, found = 0, []
    for episode in range(episodes):
        folder = tmp_path / f"episode {episode}"
        folder.mkdir()
        disk.events = []
        work(f"sqlite:///{folder}/memory.db", disk)
        for noted, left in disks.images(disk.events, count // episodes, chosen):
            image = tmp_path / "image"
            disks.write_image(image, left)
            looked += 1
            try:
                with Memory.open(f"sqlite:///{image}/memory.db") as memory:
                    wrong = broken(memory, Promises(noted))
                    wrong += [line for line in memory.engine.check() if not line[1]]
            except errors.PerdureError as error:
                wrong = [error]
            found += [(seed, looked, len(noted), each) for each in wrong]
            shutil.rmtree(image)
    return looked, found


def test_five_hundred_power_failures_lose_nothing_and_leave_nothing_torn(tmp_path, disk):
    assert faults_of(tmp_path, disk, 500) == (500, [])


@pytest.mark.long
def test_ten_thousand_power_failures_lose_nothing_and_leave_nothing_torn(tmp_path, disk):
    assert faults_of(tmp_path, disk, 10_000, episodes=100) == (10_000, [])


@pytest.mark.parametrize("synchronous", [0, 1])
def test_control_with_weaker_syncs_the_same_failures_lose_what_was_acknowledged(
    tmp_path, disk, monkeypatch, synchronous
):
    monkeypatch.setitem(files.PRAGMAS, "synchronous", synchronous)
    _, found = faults_of(tmp_path, disk, 60, episodes=2)
    assert found
