"""Memory for LLM agents made with LangChain and LangGraph."""

from perdure import errors
from perdure.errors import PerdureError
from perdure.memory import Memory
from perdure.model import About, Source

__all__ = ["About", "Memory", "PerdureError", "Source", "errors"]
