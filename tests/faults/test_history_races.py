"""Many that add to one history at once, in threads, tasks and processes: nobody's message is lost."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage
from tests.engine import processes
from tests.faults.test_store_races import in_tasks, in_threads
from tests.support import checkpoint, config, metadata, put

from perdure import Memory, errors
from perdure.langgraph import adding, histories

AT_ONCE = 16
EACH = 4
pytestmark = pytest.mark.filterwarnings("error")


def message(who, n):
    return HumanMessage(f"{who} says {n}", id=f"{who}-{n}")


def bare(memory, added):
    """Add without any protection, for the controls: read, and put what was read with one more."""
    saver = memory.checkpointer
    found = saver.get_tuple(config())
    known = found.checkpoint["channel_values"]["messages"] if found else []
    step = found.metadata["step"] + 1 if found else 0
    versions = {"messages": f"{step + 1:032}.00000001"}
    made = checkpoint({"messages": [*known, added]}, versions)
    saver.put(found.config if found else config(), made, metadata(step, "update"), versions)


def check(memory, whos):
    """Every message is there, once, and each one's in the order in which they were added."""
    found = [one.id for one in memory.history("t1").messages]
    assert sorted(found) == sorted(f"{who}-{n}" for who in whos for n in range(EACH))
    for who in whos:
        mine = [name for name in found if name.startswith(f"{who}-")]
        assert mine == [f"{who}-{n}" for n in range(EACH)]
    assert memory.threads.get("t1").turns == len(found)
    assert memory.threads.get("t1").status == "idle"  # nothing forked


def test_threads_that_add_to_one_history_lose_nothing(roomy):
    def work(who):
        history = roomy.history("t1")
        for n in range(EACH):
            history.add_messages([message(who, n)])

    in_threads(work, AT_ONCE)
    check(roomy, range(AT_ONCE))


def test_control_threads_that_read_and_put_lose_messages(roomy):
    def work(who):
        for n in range(EACH):
            bare(roomy, message(who, n))

    in_threads(work, AT_ONCE)
    assert len(roomy.history("t1").messages) < AT_ONCE * EACH


@pytest.mark.anyio
async def test_tasks_that_add_to_one_history_lose_nothing(roomy):
    async def work(who):
        for n in range(EACH):
            await roomy.history("t1").aadd_messages([message(who, n)])

    await in_tasks(work, AT_ONCE)
    check(roomy, range(AT_ONCE))


def test_loops_and_threads_of_one_process_lose_nothing(roomy):
    async def work(who):
        for n in range(EACH):
            await roomy.history("t1").aadd_messages([message(who, n)])

    def loop(number):
        if number % 2:
            asyncio.run(in_tasks(lambda task: work(f"{number}.{task}"), 3))
        else:
            for n in range(EACH):
                roomy.history("t1").add_messages([message(number, n)])

    in_threads(loop, 4)
    check(roomy, [0, 2, *(f"{number}.{task}" for number in (1, 3) for task in range(3))])


PROCESS = """
from tests.faults.test_history_races import EACH, bare, message
way, who = rest
memory = Memory.open(url if url.startswith("postgres") else url + "?timeout=60", sweep="off")
say("ready")
hear()
for n in range(EACH):
    if way == "bare":
        bare(memory, message(who, n))
    else:
        memory.history("t1").add_messages([message(who, n)])
memory.close()
"""


def in_processes(url, way):
    Memory.open(url).close()
    started = [processes.start(PROCESS, url, way, str(who)) for who in range(6)]
    for process in started:
        assert process.heard() == "ready"
    for process in started:
        process.tell()
    for process in started:
        process.end()


def test_processes_that_add_to_one_history_lose_nothing(shared_url):
    in_processes(shared_url, "history")
    with Memory.open(shared_url) as memory:
        check(memory, range(6))


def test_control_processes_that_read_and_put_lose_messages(shared_url):
    in_processes(shared_url, "bare")
    with Memory.open(shared_url) as memory:
        assert len(memory.history("t1").messages) < 6 * EACH


# What happens between reading and writing


class Between:
    """Does something else, once or always, each time that messages were merged and not yet stored."""

    def __init__(self, monkeypatch, *steps):
        self.steps = iter(steps)
        self.merges = 0
        merged = adding.merged

        def and_then(old, new):
            self.merges += 1
            if old is not None and (step := next(self.steps, None)):
                step()
            return merged(old, new)

        monkeypatch.setattr(adding, "merged", and_then)


def direct(memory, added):
    put(memory.checkpointer, head(memory), {"messages": [*memory.history("t1").messages, added]})


def head(memory):
    found = memory.checkpointer.get_tuple(config())
    return found.config if found else config()


@pytest.mark.parametrize("empty", [True, False])
def test_a_put_in_between_is_noticed_and_the_merge_is_done_again(roomy, styled, monkeypatch, empty):
    if not empty:
        roomy.history("t1").add_messages([message("a", 0)])
    between = Between(monkeypatch, lambda: direct(roomy, message("b", 0)), lambda: direct(roomy, message("b", 1)))
    styled(roomy.history("t1")).add_messages([message("c", 0)])
    found = [one.id for one in roomy.history("t1").messages]
    assert found == [*([] if empty else ["a-0"]), "b-0", "b-1", "c-0"]
    assert between.merges == 3


def test_an_interrupt_in_between_is_not_lost(roomy, styled, monkeypatch):
    roomy.history("t1").add_messages([message("a", 0)])
    where = head(roomy)
    Between(monkeypatch, lambda: roomy.checkpointer.put_writes(where, [("__interrupt__", "sure?")], "task"))
    with pytest.raises(errors.ConflictError, match="interrupt"):
        styled(roomy.history("t1")).add_messages([message("c", 0)])
    assert roomy.threads.get("t1").status == "interrupted"


def test_a_thread_that_is_deleted_in_between_begins_anew(roomy, styled, monkeypatch):
    roomy.history("t1").add_messages([message("a", 0)])
    Between(monkeypatch, lambda: roomy.threads.delete("t1"))
    styled(roomy.history("t1")).add_messages([message("c", 0)])
    assert [one.id for one in roomy.history("t1").messages] == ["c-0"]


def test_a_removal_in_between_stays(roomy, styled, monkeypatch):
    roomy.history("t1").add_messages([message("a", 0), message("a", 1)])
    removal = [RemoveMessage(id="a-0")]
    put_removal = lambda: put(roomy.checkpointer, head(roomy), {"messages": roomy.history("t1").messages[1:]})  # noqa: E731
    between = Between(monkeypatch, put_removal)
    styled(roomy.history("t1")).add_messages([message("c", 0)])
    assert [one.id for one in roomy.history("t1").messages] == ["a-1", "c-0"]
    assert between.merges == 2
    with pytest.raises(errors.InvalidInputError):
        roomy.history("t1").add_messages(removal)


def test_who_always_comes_too_late_is_told_so(roomy, styled, monkeypatch):
    monkeypatch.setattr(histories, "ATTEMPTS", 4)
    count = itertools.count()
    between = Between(monkeypatch, *[lambda: direct(roomy, message("b", next(count)))] * 4)
    with pytest.raises(errors.ConflictError, match="4 times"):
        styled(roomy.history("t1")).add_messages([message("c", 0)])
    assert between.merges == 4
    assert [one.id for one in roomy.history("t1").messages] == ["b-0", "b-1", "b-2", "b-3"]
