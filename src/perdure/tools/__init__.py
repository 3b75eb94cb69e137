"""Tools for agents: what a model may do with memory, in the namespace that the run, not the model, says."""

from perdure.tools.memories import memory_tools

__all__ = ["memory_tools"]
