"""A storm of many tenants' requests over few connections, half of them cancelled: no answer goes to another tenant."""

from __future__ import annotations

import asyncio
import random
import re

import pytest
from tests import support
from tests.faults import own
from tests.faults.disks import seeded

from perdure.engine import servers, statements
from perdure.engine.postgres import PostgresEngine, PostgresTx

TENANTS = [f"tenant {number}" for number in range(50)]
NOBODY = ("SELECT 1", {})


@pytest.fixture(scope="module")
def mine():
    with own.server() as made:
        yield made


@pytest.fixture
def url(mine):
    return mine.database()


def values(tenant, n):
    return {"tenant": tenant, "n": n, "list": [f"{tenant} {at}" for at in range(5)]}


class Storm:
    """Requests of every tenant, with a check of each answer."""

    def __init__(self, memory, chosen, tenants=TENANTS):
        self.memory, self.chosen, self.tenants = memory, chosen, tenants
        self.views = {tenant: memory.scope(tenant=tenant) for tenant in tenants}
        self.answered = self.cancelled = 0

    async def begin(self):
        for tenant in self.tenants:
            for kind in (self.put, self.remember):
                await kind(tenant)

    async def put(self, tenant):
        made = support.checkpoint(values(tenant, self.chosen.randrange(99)))
        saver, given = self.views[tenant].checkpointer, (support.metadata(), dict(made["channel_versions"]))
        await saver.aput(support.config("t"), made, *given)

    async def get(self, tenant):
        found = (await self.views[tenant].checkpointer.aget_tuple(support.config("t"))).checkpoint["channel_values"]
        assert found == values(tenant, found["n"]), f"{tenant} has read {found}"

    async def remember(self, tenant):
        await self.views[tenant].store.aput(("n",), f"k{self.chosen.randrange(5)}", {"tenant": tenant})

    async def search(self, tenant):
        found = await self.views[tenant].store.asearch((), limit=20)
        assert found, f"{tenant} has found nothing"
        assert {item.value["tenant"] for item in found} == {tenant}, f"{tenant} has found {found}"

    async def look(self, _):
        """Look at the tables as no tenant, on a connection that tenants use."""
        pool = self.memory.engine._pools.here()
        link = await pool.take(self.memory.engine._pools.until())
        try:
            for table in ("items", "checkpoints", "threads"):
                assert (await link.exchange([(f"SELECT count(*) FROM {table}", {})]))[0].rows == [(0,)]
        finally:
            await pool.give(link)

    async def request(self):
        kinds = [self.get, self.search] * 3 + [self.put, self.remember]
        call = asyncio.ensure_future(self.chosen.choice(kinds)(self.chosen.choice(self.tenants)))
        if self.chosen.random() < 0.5:
            for _ in range(self.chosen.choice([0, 1, 2, 3, 5, 8])):
                await asyncio.sleep(0)
            await asyncio.sleep(self.chosen.choice([0, self.chosen.uniform(0, 0.05)]))
            call.cancel()
        try:
            await call
        except asyncio.CancelledError:
            self.cancelled += 1
        else:
            self.answered += 1

    async def rage(self, count, workers=60):
        async def work():
            for at in range(count // workers):
                await self.request()
                if at % 9 == 0:
                    await self.look(None)

        await asyncio.gather(*(work() for _ in range(workers)))

    async def calm(self):
        """Every tenant reads right, and every connection is there and belongs to nobody."""
        for tenant in self.tenants:
            await self.get(tenant)
            await self.search(tenant)
        await asyncio.gather(*(self.look(None) for _ in range(3)))


@pytest.mark.anyio
async def test_five_thousand_requests_half_of_them_cancelled_get_their_own_tenants_answers(mine, url):
    chosen, seed = seeded()
    with own.watched(mine, url, max_size=3, timeout=60) as memory:
        storm = Storm(memory, chosen)
        await storm.begin()
        before = asyncio.all_tasks()
        await asyncio.wait_for(storm.rage(5040), 120)
        assert storm.answered + storm.cancelled == 5040
        assert storm.cancelled > 1500, seed
        await storm.calm()
        assert asyncio.all_tasks() <= before, seed
        figures = next(iter(memory.engine.pools().values()))
        assert figures["pool_size"] == figures["pool_available"] == 3
        await memory.aclose()


async def storms(mine, url, count=20):
    """Storm until it is found out; few tenants, so that a connection soon serves the same one again."""
    with own.watched(mine, url, max_size=3, timeout=60) as memory:
        storm = Storm(memory, random.Random(), TENANTS[:6])
        await storm.begin()
        try:
            for _ in range(count):
                await storm.rage(1200)
                await storm.calm()
        finally:
            await memory.aclose()


@pytest.mark.anyio
async def test_control_a_tenant_that_is_set_for_a_session_is_found_out(mine, url, monkeypatch):
    for key, sql in list(servers._FIRST.items()):
        monkeypatch.setitem(servers._FIRST, key, sql.replace(", true)", ", false)"))
    with pytest.raises(AssertionError):
        await storms(mine, url)


class SessionEngine(PostgresEngine):
    """Sets the tenant for a session, and only if it isn't the one of before; a cancellation reaches it anywhere."""

    async def aread(self, work, *, tenant):
        pool = self._pools.here()
        link = await pool.take(self._pools.until())
        try:
            if getattr(link.connection, "tenant", None) != tenant:
                link.connection.tenant = tenant
                await asyncio.sleep(0.005)  # a round trip, before the server has heard of it
                await link.connection.execute("SELECT set_config('perdure.tenant', %s, false)", [tenant])
            return await work(PostgresTx(link, NOBODY, writes=False, measures=False))
        finally:
            await pool.give(link)


@pytest.mark.anyio
async def test_control_reads_that_rely_on_a_sessions_tenant_are_found_out(mine, url, monkeypatch):
    """Without the tenant in the statements, and without looking as nobody: what is found are wrong answers."""
    known = statements.numbered()
    reads = {name: sql for name, sql in known.items() if sql.startswith(("SELECT", "WITH"))}
    trusting = {name: re.sub(r"(\w+\.)?tenant = %\(tenant\)s", "true", sql) for name, sql in reads.items()}
    assert sum(trusting[name] != sql for name, sql in reads.items()) > 10
    monkeypatch.setattr(statements, "numbered", lambda: {**known, **trusting})
    monkeypatch.setattr(PostgresEngine, "aread", SessionEngine.aread)
    monkeypatch.setattr(Storm, "look", lambda *_: asyncio.sleep(0))
    with pytest.raises(AssertionError, match=r"tenant [0-9]+ has"):
        await storms(mine, url)
