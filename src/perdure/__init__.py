"""Memory for LLM agents made with LangChain and LangGraph."""

from perdure import errors
from perdure.errors import PerdureError
from perdure.memory import Memory

__all__ = ["Memory", "PerdureError", "errors"]
