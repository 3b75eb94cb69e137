"""The catalogue of threads."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from tests.support import config, put, values_of

from perdure import errors


@pytest.fixture
def threads(memory, styled):
    return styled(memory.threads)


def start(memory, thread, text="hello", **more):
    return put(
        memory.checkpointer, config(thread, **more), {"messages": [HumanMessage(text, id=thread)]}, source="input"
    )


def names(page):
    return [thread.id for thread in page.threads]


def test_threads_are_listed_newest_first_in_pages_without_gaps(memory, threads):
    for n in range(25):
        start(memory, f"t{n:02}")
    start(memory, "t03")
    expected = ["t03", *(f"t{n:02}" for n in range(24, -1, -1) if n != 3)]
    found, cursor = [], None
    while True:
        page = threads.list(limit=7, cursor=cursor)
        found += names(page)
        cursor = page.cursor
        if cursor is None:
            break
    assert found == expected
    assert names(threads.list()) == expected
    assert threads.list(limit=0).threads == ()


def test_threads_are_found_by_subject_status_tag_and_title(memory, threads):
    start(memory, "a", "Pizza in 杭州", subject_id="u1")
    start(memory, "b", "a letter to Ada", subject_id="u1")
    head = start(memory, "c", "pizza again", subject_id="u2")
    memory.checkpointer.put_writes(head, [("__interrupt__", "sure?")], "task")
    threads.tag("a", add=["food", "100%"])
    threads.tag("c", add=["food"])
    assert names(threads.list(subject="u1")) == ["b", "a"]
    assert names(threads.list(title="pizza")) == ["c", "a"]
    assert names(threads.list(title="杭州")) == ["a"]
    assert names(threads.list(title="%")) == []
    assert names(threads.list(tag="food")) == ["c", "a"]
    assert names(threads.list(status="interrupted")) == ["c"]
    assert names(threads.list(status="idle", subject="u1", tag="food", title="pizza")) == ["a"]
    threads.tag("a", remove=["food"])
    assert threads.get("a").tags == ("100%",)


def test_a_view_of_one_subject_lists_and_finds_only_its_threads(memory, styled):
    start(memory, "a", subject_id="u1")
    start(memory, "b", subject_id="u2")
    view = styled(memory.scope(subject="u1").threads)
    assert names(view.list()) == ["a"]
    assert view.get("b") is None
    with pytest.raises(errors.InvalidIdError, match="bound to subject"):
        view.list(subject="u2")
    for change in (lambda: view.rename("b", "mine"), lambda: view.tag("b", add=["x"]), lambda: view.stats("b")):
        with pytest.raises(errors.NotFoundError):
            change()
    assert view.delete("b") is False
    with pytest.raises(errors.NotFoundError):
        view.fork("b", "c")
    assert memory.threads.get("b").title == "hello"


def test_a_thread_can_be_renamed_and_keeps_its_name(memory, threads):
    start(memory, "a", "first words")
    threads.rename("a", "The letter")
    start(memory, "a", "more words")
    assert threads.get("a").title == "The letter"
    with pytest.raises(errors.NotFoundError, match="'b'"):
        threads.rename("b", "x")


def test_deleting_says_whether_there_was_something(memory, threads):
    start(memory, "a")
    assert threads.delete("a") is True
    assert threads.delete("a") is False
    assert threads.get("a") is None


def conversation(memory, turns=4):
    """Return the checkpoints of a conversation: after each turn one more question and answer."""
    saver, parent, made, messages = memory.checkpointer, config("a"), [], []
    for n in range(turns):
        messages = [*messages, HumanMessage(f"q{n} " * 50, id=f"q{n}"), AIMessage(f"a{n} " * 50, id=f"a{n}")]
        parent = put(saver, parent, {"messages": messages}, versions={"messages": n + 1}, step=n, source="input")
        made.append(parent)
    return made


def test_a_fork_begins_as_the_thread_was_at_a_checkpoint_and_goes_its_own_way(memory, threads):
    made = conversation(memory)
    memory.checkpointer.put_writes(made[1], [("messages", ["for the step after"])], "task")
    at = made[1]["configurable"]["checkpoint_id"]
    forked = threads.fork("a", "b", checkpoint_id=at)
    assert (forked.id, forked.checkpoints) == ("b", 2)
    state = memory.checkpointer.get_tuple(config("b"))
    assert [message.id for message in state.checkpoint["channel_values"]["messages"]] == ["q0", "a0", "q1", "a1"]
    assert state.pending_writes == []
    put(memory.checkpointer, state.config, {"messages": ["other"]}, versions={"messages": 9}, step=2)
    assert len(values_of(memory.checkpointer, config("a"))["messages"]) == 8
    whole = threads.fork("a", "c")
    assert whole.checkpoints == 4
    with pytest.raises(errors.ConflictError, match="exists"):
        threads.fork("a", "b")
    with pytest.raises(errors.NotFoundError):
        threads.fork("nowhere", "d")
    with pytest.raises(errors.NotFoundError, match="checkpoint"):
        threads.fork("a", "d", checkpoint_id="nothing")
    assert threads.get("d") is None


def test_a_fork_and_a_thread_without_a_run_have_the_status_and_turns_of_what_is_left(memory, threads):
    saver = memory.checkpointer
    first = put(saver, config("a"), {"n": 1}, source="input", step=-1, run_id="r1")
    second = put(saver, first, {"n": 2}, versions={"n": 2}, source="input", step=1, run_id="r2")
    saver.put_writes(second, [("__interrupt__", "sure?")], "task")
    assert (threads.get("a").status, threads.get("a").turns) == ("interrupted", 2)
    forked = threads.fork("a", "b", checkpoint_id=first["configurable"]["checkpoint_id"])
    assert (forked.status, forked.turns) == ("idle", 1)
    saver.prune(["a"])
    assert (threads.get("a").status, threads.get("a").turns) == ("interrupted", 2)
    third = put(saver, second, {"n": 3}, versions={"n": 3}, source="input", step=2, run_id="r3")
    saver.put_writes(third, [("__error__", "broken")], "task")
    assert threads.get("a").status == "error"
    saver.delete_for_runs(["r3"])
    assert (threads.get("a").status, threads.get("a").turns) == ("interrupted", 2)


def test_stats_count_what_each_channel_holds(memory, threads):
    made = conversation(memory)
    memory.checkpointer.put_writes(made[-1], [("files", {"f": "x " * 500})], "task")
    stats = threads.stats("a")
    assert stats.checkpoints == 4
    assert stats.writes == 1
    assert {channel.channel: channel.entries for channel in stats.channels} == {"messages": 8, "files": 1}
    assert stats.thread.bytes == stats.checkpoint_bytes + stats.write_bytes + sum(c.bytes for c in stats.channels)


@pytest.mark.parametrize("wrong", ["", "nonsense", "AAAAAAAA", "é"])
def test_a_cursor_of_another_make_is_refused(threads, wrong):
    with pytest.raises(errors.InvalidCursorError):
        threads.list(cursor=wrong)


def test_a_cursor_with_a_flipped_bit_is_refused(memory, threads):
    start(memory, "a")
    start(memory, "b")
    cursor = threads.list(limit=1).cursor
    for at in range(len(cursor)):
        flipped = cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]
        with pytest.raises(errors.InvalidCursorError):
            threads.list(cursor=flipped)


def test_a_status_or_tag_that_can_not_be_is_refused(memory, threads):
    start(memory, "a")
    with pytest.raises(errors.InvalidInputError, match="idle"):
        threads.list(status="sleeping")
    with pytest.raises(errors.InvalidInputError, match="list"):
        threads.tag("a", add="food")
    with pytest.raises(errors.InvalidIdError):
        threads.tag("a", add=["with\nnewline"])
    for wrong in (["a"], 5, ""):
        with pytest.raises(errors.InvalidIdError):
            threads.list(title=wrong)
        with pytest.raises(errors.InvalidIdError):
            threads.list(tag=wrong)
