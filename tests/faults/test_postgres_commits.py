"""Answers to commits that get lost on the way: each call, made again, has the effect of having been made once."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.base import GetOp, PutOp
from tests import support
from tests.faults import own
from tests.faults.proxies import Proxy

from perdure import Memory, errors
from perdure.engine import drive


@pytest.fixture(scope="module")
def mine():
    with own.server() as made:
        yield made


@pytest.fixture
def url(mine):
    return mine.database()


class Both:
    """Makes each call on two memories: over a proxy that loses an answer, and where nothing gets lost."""

    def __init__(self, tried, twin, proxy, *, style):
        self.tried, self.twin, self.proxy = tried, twin, proxy
        self.blocking = style == "sync"
        self.lost = 0

    async def call(self, part, name, *given, loses=1):
        getattr(getattr(self.twin, part), name)(*given)
        target = getattr(self.tried, part)
        self.proxy.lose_commits(loses)
        for _ in range(loses):
            with pytest.raises(errors.CommitUnknownError):
                await self._made(target, name, *given)
            self.lost += 1
        with contextlib.suppress(errors.ConflictError) if name == "copy_thread" else contextlib.nullcontext():
            return await self._made(target, name, *given)  # the thread exists: it was copied

    async def _made(self, target, name, *given):
        if self.blocking:
            return getattr(target, name)(*given)
        return await getattr(target, f"a{name}")(*given)


async def talk(both, thread, steps):
    """Make calls of every kind, each of which is lost once."""
    where, messages = support.config(thread), []
    for n in range(steps):
        messages = [*messages, HumanMessage(f"{thread} {n}", id=f"m{n}")]
        made = support.checkpoint({"messages": messages, "n": n, "large": f"{thread} {n} " * 99})
        made["channel_versions"] = dict.fromkeys(made["channel_values"], n + 1)
        versions = dict(made["channel_versions"])
        where = await both.call("checkpointer", "put", where, made, support.metadata(n), versions, loses=1 + n % 2)
        await both.call("checkpointer", "put_writes", where, [("messages", [n]), ("n", n)], support.task())
        await both.call("store", "put", (thread, "items"), f"k{n % 5}", {"n": n})
        ops = [PutOp((thread, "more"), f"a{n}", {"n": n}), PutOp((thread, "more"), f"a{n - 2}", None)]
        await both.call("store", "batch", [*ops, GetOp((thread, "items"), "k0")])
    await both.call("checkpointer", "copy_thread", thread, f"copy of {thread}")
    await both.call("checkpointer", "copy_thread", thread, "gone")
    await both.call("checkpointer", "delete_thread", "gone")
    await both.call("checkpointer", "prune", [f"copy of {thread}"])


def everything(memory):
    """Return all that a memory shows, but for times and sizes."""
    saver = memory.checkpointer
    history = [
        (found.config["configurable"], found.checkpoint, found.metadata, found.parent_config, found.pending_writes)
        for found in saver.list(None)
    ]
    items = [(item.namespace, item.key, item.value) for item in memory.store.search((), limit=1000)]
    threads = [(t.id, t.status, t.turns, t.checkpoints) for t in memory.threads.list().threads]
    return sorted(history, key=repr), sorted(items, key=repr), sorted(threads)


@pytest.mark.parametrize("style", ["sync", "async"])
def test_calls_made_again_after_lost_answers_have_happened_once(url, mine, style):
    with Proxy(url) as proxy, Memory.open("sqlite://", sweep="off") as twin:
        with own.watched(mine, proxy.url, call_timeout=10, timeout=10) as memory:
            both = Both(memory, twin, proxy, style=style)
            drive(talk(both, "t", 12)) if style == "sync" else asyncio.run(talk(both, "t", 12))
            assert both.lost == proxy.lost >= 50
            assert everything(memory) == everything(twin)
        with Memory.open(url) as other:
            assert everything(other) == everything(twin)


def test_control_a_call_that_is_not_made_again_may_be_stored_all_the_same(url, mine):
    """The answer is lost, the change is not: to say that it had failed would be wrong."""
    with Proxy(url) as proxy, own.watched(mine, proxy.url) as memory:
        memory.store.put(("n",), "before", {})
        proxy.lose_commits()
        with pytest.raises(errors.CommitUnknownError):
            memory.store.put(("n",), "k", {"n": 1})
        assert memory.store.get(("n",), "k").value == {"n": 1}
