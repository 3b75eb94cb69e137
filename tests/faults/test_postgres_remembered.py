"""Two memories at one PostgreSQL, each of which remembers what the other changes: nothing stale is read or kept."""

from __future__ import annotations

import threading
import uuid

import pytest
from langchain_core.messages import HumanMessage
from tests.support import checkpoint, config, metadata, put, task, values_of

from perdure import Memory, errors
from perdure.core import checkpoints, lookups

LONG = "word " * 200


@pytest.fixture
def two(application_url):
    """Two savers that share a database and nothing they remember."""
    with Memory.open(application_url) as one, Memory.open(application_url) as other:
        yield one.checkpointer, other.checkpointer


def said(text, name=None):
    return {"messages": [HumanMessage(LONG + text, **({"id": name} if name else {}))]}


@pytest.mark.parametrize("listed", [False, True])
def test_a_message_that_gets_its_id_later_is_read_with_it_by_who_read_it_without(two, listed):
    one, other = two
    first = put(one, config(), said("hello"), step=-1)
    assert (list(other.list(config())) if listed else [other.get_tuple(config())])[0]
    named = said("hello", str(uuid.uuid4()))
    put(one, first, named, step=0)
    assert values_of(one, config()) == values_of(other, config()) == named


def meanwhile(monkeypatch, module, name, act):
    """Let something happen once, when a function of a module has returned."""
    real, left = getattr(module, name), [act]

    async def slow(*given, **named):
        found = await real(*given, **named)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(module, name, slow)


@pytest.mark.parametrize("named", [False, True])
def test_a_listing_during_which_a_thread_is_pruned_and_goes_on_shows_no_mixture(two, monkeypatch, named):
    one, other = two
    where = put(one, config(), said("a", "a"), step=-1)
    where = put(one, where, said("b", "b"))
    where = put(one, where, said("a", "a"), versions={"messages": 3})
    list(other.list(config()))
    last = []

    def go_on():
        one.prune(["t1"])
        last.append(put(one, where, said("c", "c"), versions={"messages": 4}))  # in the place that b had

    made = checkpoint(said("c", "c"), {"messages": 4})
    asked = config(checkpoint=made["id"]) if named else config()

    def go_on_as_named():
        one.prune(["t1"])
        one.put(where, made, metadata(), {"messages": 4})

    meanwhile(monkeypatch, lookups.threads, "find", go_on_as_named if named else go_on)
    found = list(other.list(asked))
    assert found[0].checkpoint["channel_values"] == said("c", "c")


def test_a_thread_that_is_never_still_is_said_to_be_so(two, monkeypatch):
    one, other = two
    put(one, config(), said("a", "a"))

    async def moved(*_, **__):
        raise lookups.pointers.MovedError

    monkeypatch.setattr(lookups.looks, "take", moved)
    with pytest.raises(errors.ConflictError, match="while it was being read"):
        other.get_tuple(config())


def test_a_write_that_a_task_adds_while_its_checkpoint_comes_is_kept(two, monkeypatch):
    one, other = two
    made, name = checkpoint({"x": 1}), task()
    where = config(checkpoint=made["id"])
    other.put_writes(where, [("x", 1)], name)
    start, attempts, added = checkpoints.threads.start, [], []

    async def slow(*given):
        attempts.append(1)
        if len(attempts) == 2:  # the first one knew of no writes that wait; this one has seen them
            adding = threading.Thread(target=other.put_writes, args=(where, [("__error__", "boom")], name))
            adding.start()
            adding.join(0.5)
            added.append(adding)
        return await start(*given)

    monkeypatch.setattr(checkpoints.threads, "start", slow)
    one.put(config(), made, metadata(), {"x": 1})
    added[0].join(30)
    assert [write[1] for write in one.get_tuple(config()).pending_writes] == ["__error__", "x"]
