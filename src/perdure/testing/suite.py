"""The suite: every test of a store, and what a store says about itself to run them."""

from __future__ import annotations

from perdure.testing.changing import Changing
from perdure.testing.expiring import Expiring
from perdure.testing.filtering import Filtering
from perdure.testing.keeping import Keeping
from perdure.testing.naming import Naming
from perdure.testing.querying import Querying
from perdure.testing.setting import Supports

__all__ = ["StoreSuite", "Supports"]


class StoreSuite(Keeping, Naming, Filtering, Querying, Expiring, Changing):
    """Subclass it as ``class TestMyStore(StoreSuite)`` and give it the fixture `open_store`.

    Each test runs twice, by the blocking names of LangGraph's `BaseStore` and by the async ones. `styles` and
    `supports` say what the store has; `ttl`, `wait` and `sweep` how time passes for it.
    """
