"""Moves that are interrupted, repeated, or meet something else; and what verifying is worth."""

import dataclasses
import signal
import subprocess
import sys
import time

import pytest
from tests.moving import graphs, peer
from tests.moving.conftest import THREADS

from perdure import Memory, errors
from perdure.moving import OurTarget
from perdure.moving.ours import UNFINISHED


def ids(memory):
    return sorted(thread.id for thread in memory.threads.list().threads)


class Interrupted(OurTarget):
    """Ends the process, as it were, at the ninth state of a thread."""

    def put(self, thread, state):
        self.puts = getattr(self, "puts", 0) + 1
        if self.puts == 9:
            raise KeyboardInterrupt
        super().put(thread, state)


def test_an_interrupted_import_shows_no_half_thread_and_goes_on(stock_file, ours, take_in, states_of, expected):
    with pytest.raises(KeyboardInterrupt):
        take_in(stock_file, ours, target=Interrupted, threads=["talk"])
    (unfinished,) = ids(ours)
    assert unfinished.startswith(UNFINISHED)
    assert ours.threads.get(unfinished).checkpoints == 8
    report = take_in(stock_file, ours)
    assert report.failures == []
    assert report.counts.checkpoints == len(expected[0]) - 8
    assert ids(ours) == sorted(THREADS)
    assert states_of(ours) == expected[0]


def test_a_killed_import_goes_on(tmp_path):
    stock, url = f"sqlite:///{tmp_path}/stock.db", f"sqlite:///{tmp_path}/ours.db"
    peer.ask("long", stock, "600")
    program = [sys.executable, "-m", "perdure.cli", "import", "langgraph", "--from", stock, "--db", url]
    with Memory.open(url) as memory:
        running = subprocess.Popen(program, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while time.monotonic() < end and not any(t.checkpoints > 50 for t in memory.threads.list().threads):
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.wait()
        assert "long" not in ids(memory)
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
        assert ids(memory) == ["long"]
        assert peer.states(memory.checkpointer, ["long"]) == peer.ask("states", stock, "long")


def test_what_is_there_and_equal_is_passed_over(stock_file, ours, take_in):
    take_in(stock_file, ours)
    before = ours.threads.list()
    report = take_in(stock_file, ours)
    assert (report.failures, report.counts.threads, report.counts.checkpoints) == ([], 0, 0)
    assert (report.counts.threads_there, report.counts.items_there) == (len(THREADS), 3)
    assert ours.threads.list() == before


def test_what_the_source_has_gone_on_with_since_is_added(stock_file, ours, take_in, states_of):
    take_in(stock_file, ours)
    peer.ask("more", stock_file)
    report = take_in(stock_file, ours)
    assert (report.failures, report.counts.threads) == ([], 1)
    assert states_of(ours, ["talk"]) == peer.ask("states", stock_file, "talk")


def test_what_has_gone_on_here_is_left_as_it_is(stock_file, ours, take_in, states_of):
    take_in(stock_file, ours)
    graphs.talk(ours.checkpointer).invoke({"messages": [("human", "here")]}, graphs.config("talk"))
    before = states_of(ours)
    assert take_in(stock_file, ours).failures == []
    assert states_of(ours) == before
    peer.ask("more", stock_file)
    (failure,) = take_in(stock_file, ours).failures
    assert isinstance(failure.error, errors.ConflictError)
    assert "both have gone on" in str(failure.error)
    assert states_of(ours) == before


def test_another_thread_or_item_of_the_same_name_is_a_conflict_and_stays(stock_file, ours, take_in):
    graphs.talk(ours.checkpointer).invoke({"messages": [("human", "mine")]}, graphs.config("talk"))
    ours.store.put(("users", "ann"), "咖啡", {"mine": True})
    report = take_in(stock_file, ours)
    assert sorted(failure.error.code for failure in report.failures) == ["conflict", "conflict"]
    assert report.counts.threads == len(THREADS) - 1
    assert len([*ours.checkpointer.list(graphs.config("talk"))]) == 5
    assert ours.store.get(("users", "ann"), "咖啡").value == {"mine": True}


def tampering(change):
    class Tampering(OurTarget):
        """Stores another state than it was given."""

        def put(self, thread, state):
            super().put(thread, self.changed(state))

        def changed(self, state):
            if state.writes and state.key.parent and not getattr(self, "done", False):
                self.done = True
                return change(state)
            return state

    return Tampering


def with_checkpoint(state, **fields):
    return dataclasses.replace(state, checkpoint={**state.checkpoint, **fields})


def values_changed(state):
    values = state.checkpoint["channel_values"]
    messages = [values["messages"][0].model_copy(update={"content": "another"}), *values["messages"][1:]]
    return with_checkpoint(state, channel_values={**values, "messages": messages})


TAMPERED = {
    "channel 'messages'": values_changed,
    "channel_versions": lambda s: with_checkpoint(s, channel_versions={**s.checkpoint["channel_versions"], "x": "1"}),
    "versions_seen": lambda s: with_checkpoint(s, versions_seen={}),
    "ts": lambda s: with_checkpoint(s, ts="2026-01-01T00:00:00+00:00"),
    "metadata": lambda s: dataclasses.replace(s, metadata={**s.metadata, "step": True}),
    "parent": lambda s: dataclasses.replace(s, key=dataclasses.replace(s.key, parent=None)),
    "list of pending writes": lambda s: dataclasses.replace(s, writes=s.writes[1:]),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_state_that_was_not_stored_as_it_is_is_found_out(what, stock_file, ours, take_in):
    report = take_in(stock_file, ours, target=tampering(TAMPERED[what]), threads=["talk"])
    (failure,) = report.failures
    assert isinstance(failure.error, errors.VerificationError)
    assert f"its {what} differs" in str(failure.error)
    assert "'talk'" in str(failure.error)
    assert ids(ours) == []
    assert take_in(stock_file, ours, threads=["talk"]).failures == []


def test_an_item_that_was_not_stored_as_it_is_is_found_out(stock_file, ours, take_in):
    class Tampering(OurTarget):
        def put_entries(self, entries):
            super().put_entries([dataclasses.replace(entry, value={"other": 1}) for entry in entries])

    report = take_in(stock_file, ours, target=Tampering)
    assert {failure.error.code for failure in report.failures} == {"verification"}
    assert len(report.failures) == 3


def test_two_thousand_checkpoints_are_moved_in_reasonable_time(tmp_path, ours, take_in):
    stock = f"sqlite:///{tmp_path}/stock.db"
    peer.ask("long", stock, "2000", "40")
    begun = time.monotonic()
    report = take_in(stock, ours)
    assert (report.failures, report.counts.checkpoints, report.counts.writes) == ([], 2000, 2000)
    assert time.monotonic() - begun < 120
