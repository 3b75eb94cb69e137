"""LangGraph's own conformance suite, through the async names and again through the blocking ones."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from perdure import Memory
from perdure.langgraph.saver import Saver


class BlockingNames(Saver):
    """The same saver, with each async name led to its blocking twin."""

    async def aget_tuple(self, config):
        return self.get_tuple(config)

    async def alist(self, config, **given: Any):
        for found in self.list(config, **given):
            yield found

    async def aput(self, *args: Any):
        return self.put(*args)

    async def aput_writes(self, *args: Any, **given: Any):
        return self.put_writes(*args, **given)

    async def adelete_thread(self, thread_id):
        return self.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids):
        return self.delete_for_runs(run_ids)

    async def acopy_thread(self, *args: Any):
        return self.copy_thread(*args)

    async def aprune(self, *args: Any, **given: Any):
        return self.prune(*args, **given)


@pytest.mark.parametrize("kind", [Saver, BlockingNames], ids=["async", "sync"])
@pytest.mark.parametrize("place", ["memory", "file"])
def test_every_capability_passes(kind, place, tmp_path):
    count = 0

    @checkpointer_test(name=f"perdure-{kind.__name__}-{place}")
    async def registered():
        nonlocal count
        count += 1
        url = "sqlite://" if place == "memory" else f"sqlite:///{tmp_path}/{count}.db"
        with Memory.open(url) as memory:
            yield kind(memory.checkpointer._calls)

    report = asyncio.run(validate(registered))
    failures = {name: result.failures for name, result in report.results.items() if not result.passed}
    assert failures == {}
    assert sum(result.tests_passed for result in report.results.values()) >= 81
