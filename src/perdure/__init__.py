"""Memory for LLM agents made with LangChain and LangGraph."""

from perdure import errors
from perdure.errors import PerdureError
from perdure.langgraph.putting import Delete, Put
from perdure.memory import Memory
from perdure.model import About, Policy, Source, Version

__all__ = ["About", "Delete", "Memory", "PerdureError", "Policy", "Put", "Source", "Version", "errors"]
