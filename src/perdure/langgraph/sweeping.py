"""Sweeping: the small jobs that keep a database from growing by what nobody will read again."""

from __future__ import annotations

from perdure.core import changes, items
from perdure.core.search import embeddings
from perdure.langgraph.calls import Calls

__all__ = ["Sweep"]


class Sweep:
    """The jobs of a memory that are done in the background. `calls` tell it nothing of what they do."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._changed: set[str] = set()

    def changed(self, tenant: str) -> None:
        """Take note of a tenant whose items have changed."""
        self._changed.add(tenant)

    def expired(self) -> bool:
        """Remove some of what has expired, of any tenant."""
        tenants = self._calls.survey(items.expiring_tenants)
        return any(self._calls.write(tenant, items.sweep) for tenant in tenants)

    def waiting(self) -> bool:
        """Tell whether items wait for their vectors, of any tenant."""
        return self._calls.index is not None and bool(self._calls.survey(embeddings.pending_tenants))

    def trimmed(self) -> bool:
        """Trim the logs of changes of the tenants whose items were changed here."""
        for tenant in list(self._changed):
            if self._calls.read(tenant, changes.is_long) and self._calls.write(tenant, changes.trim):
                return True
            self._changed.discard(tenant)
        return False
