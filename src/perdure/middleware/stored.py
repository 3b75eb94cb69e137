"""What `Recall` and `Profile` share: whose items, from which store, and what happens if it can't be reached."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Literal

from langchain.agents.middleware import AgentMiddleware, AgentState
from langgraph.store.base import BaseStore

from perdure import errors
from perdure.langgraph import contexts
from perdure.langgraph.contexts import Labels, Namespace
from perdure.middleware import requests
from perdure.middleware.requests import Request

__all__ = ["UNREACHABLE", "Stored"]

UNREACHABLE: Final = (errors.EmbedderError, errors.DatabaseUnavailableError, errors.DatabaseLockedError)
"""What `on_error="skip"` lets pass: a database or an embedder that will be back."""


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass(eq=False)
class Stored(AgentMiddleware[AgentState[Any], Any, Any]):
    """Middleware that puts stored items before the model. `clock` says what time it is, for their ages."""

    namespace: Namespace
    _: KW_ONLY
    store: BaseStore | None = None
    on_error: Literal["raise", "skip"] = "raise"
    clock: Callable[[], dt.datetime] = _now

    def __post_init__(self) -> None:
        contexts.check(self.namespace, self._part)
        if self.on_error not in {"raise", "skip"}:
            raise errors.ConfigurationError(
                f"{self._part}: on_error is 'raise' or 'skip', not {self.on_error!r}; 'skip' asks the model without "
                "what could not be read"
            )

    @property
    def name(self) -> str:
        """What LangChain knows it by: two of a kind may be used, for different namespaces."""
        return f"{self._part}({self.namespace!r})"

    @property
    def _part(self) -> str:
        return type(self).__name__

    def _store(self, request: Request) -> BaseStore:
        """Return the store to read. Raises ConfigurationError if there is none, or if this part comes too late."""
        requests.refuse_behind(request, self._part, "budget", "ledger")
        store = self.store if request.runtime.store is None else request.runtime.store
        if store is None:
            raise errors.ConfigurationError(
                f"{self._part} found no store: pass create_agent(…, store=memory.store), or store= to {self._part}"
            )
        return store

    def _labels(self, request: Request) -> Labels:
        return contexts.resolve(self.namespace, request.runtime, self._part)

    def _skipped(self, request: Request, event: str, error: errors.PerdureError) -> str:
        """Tell that what could not be read is left out, and return the error's code; raise it if nothing may be."""
        if self.on_error == "raise":
            raise error
        requests.told(request, event, error=error.code)
        return error.code
