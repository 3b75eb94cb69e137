"""Shaping: a part that makes another request of a request, in both calling styles."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelResponse
from langchain.agents.middleware.types import ModelCallResult

from perdure.middleware import requests
from perdure.middleware.requests import Request

__all__ = ["Shaping"]


class Shaping(AgentMiddleware[AgentState[Any], Any, Any]):
    """Middleware that changes what this request shows the model, and waits for nothing to do so."""

    def shaped(self, request: Request) -> Request:
        """Return the request as the model is to see it."""
        raise NotImplementedError

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        requests.refuse_behind(request, type(self).__name__, "ledger")
        return handler(self.shaped(request))

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelCallResult[Any]:
        requests.refuse_behind(request, type(self).__name__, "ledger")
        return await handler(self.shaped(request))
