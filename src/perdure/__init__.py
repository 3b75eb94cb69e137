"""Memory for LLM agents made with LangChain and LangGraph."""

from perdure import errors
from perdure.errors import PerdureError
from perdure.langgraph.histories import History
from perdure.langgraph.putting import Delete, Put
from perdure.memory import Memory
from perdure.model import About, Policy, Said, Source, Version

__all__ = [
    "About",
    "Delete",
    "History",
    "Memory",
    "PerdureError",
    "Policy",
    "Put",
    "Said",
    "Source",
    "Version",
    "errors",
]
