"""More than LangGraph's interface asks for, by the names that Perdure has for it."""

from __future__ import annotations

import asyncio
from typing import Any

from perdure.testing.opening import Called, Style
from perdure.testing.setting import Setting, attempt, needs

__all__ = ["Changing"]

TIMES = 400


class Changing(Setting):
    """Writes on a condition, and changes of what is there."""

    @needs("conditions")
    def test_a_put_on_a_version_that_is_gone_changes_nothing(self, store: Called) -> None:
        store.put(("f",), "k", {"n": 1})
        version = store.get(("f",), "k").version
        store.put(("f",), "k", {"n": 2}, if_version=version)
        accepted, _ = attempt(lambda: store.put(("f",), "k", {"n": 3}, if_version=version))
        assert not accepted
        assert store.get(("f",), "k").value == {"n": 2}
        assert store.get(("f",), "k").version > version

    @needs("conditions")
    def test_a_put_for_a_new_item_leaves_one_that_is_there(self, store: Called) -> None:
        store.put(("f",), "k", {"n": 1}, if_absent=True)
        accepted, _ = attempt(lambda: store.put(("f",), "k", {"n": 2}, if_absent=True))
        assert not accepted
        assert store.get(("f",), "k").value == {"n": 1}

    @needs("increment")
    def test_no_increment_is_lost_among_many_at_once(self, store: Called, style: Style) -> None:
        target: Any = store.store

        async def many() -> list[float]:
            if style.blocking:
                calls = [asyncio.to_thread(target.increment, ("f",), "k", "n") for _ in range(TIMES)]
            else:
                calls = [target.aincrement(("f",), "k", "n") for _ in range(TIMES)]
            return list(await asyncio.gather(*calls))

        assert sorted(style.run(many())) == list(range(1, TIMES + 1))
        assert store.get(("f",), "k").value == {"n": TIMES}
