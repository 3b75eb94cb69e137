"""Middleware for `create_agent`: what of a conversation, and of memory, reaches the model.

The parts change a request, not the state, unless they say so. The first in ``middleware=[…]`` is the outermost, so
the order is: `Profile` and `Recall`, then `Compaction`, `ClearToolResults`, `ContextBudget`, and `Ledger` last.
"""

from perdure.core.conversations import (
    Budget,
    Fitted,
    Group,
    Problem,
    approximate,
    clear_tool_results,
    fit,
    groups,
    remove,
    remove_all,
    repair,
    replace,
    replace_all,
    validate,
)
from perdure.middleware.budgets import ContextBudget
from perdure.middleware.clearing import ClearToolResults
from perdure.middleware.compaction import Compaction
from perdure.middleware.ledger import Ledger
from perdure.middleware.profile import Profile
from perdure.middleware.recall import Recall

__all__ = [
    "Budget",
    "ClearToolResults",
    "Compaction",
    "ContextBudget",
    "Fitted",
    "Group",
    "Ledger",
    "Problem",
    "Profile",
    "Recall",
    "approximate",
    "clear_tool_results",
    "fit",
    "groups",
    "remove",
    "remove_all",
    "repair",
    "replace",
    "replace_all",
    "validate",
]
