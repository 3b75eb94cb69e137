"""Middleware for `create_agent`: what of a conversation, and of memory, reaches the model.

The parts change a request, not the state, unless they say so. The first in `middleware=[…]` is the outermost, so the
order is: `Profile` and `Recall`, then `Compaction`, `ClearToolResults`, `ContextBudget`, and `Ledger` last.
"""
