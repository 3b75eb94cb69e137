"""Conversations: lists of messages that every provider takes, their parts, and what of them fits a budget.

Everything here works on a list and returns another one; messages are never changed.
"""

from perdure.core.conversations.calls import role
from perdure.core.conversations.clearing import clear_tool_results
from perdure.core.conversations.counting import Counter, approximate
from perdure.core.conversations.edits import remove, remove_all, replace, replace_all
from perdure.core.conversations.fitting import Budget, Fitted, Keep, Oversize, fit
from perdure.core.conversations.groups import Conversation, Group, Turn, groups, split
from perdure.core.conversations.repairs import repair
from perdure.core.conversations.rules import Problem, Rule, validate

__all__ = [
    "Budget",
    "Conversation",
    "Counter",
    "Fitted",
    "Group",
    "Keep",
    "Oversize",
    "Problem",
    "Rule",
    "Turn",
    "approximate",
    "clear_tool_results",
    "fit",
    "groups",
    "remove",
    "remove_all",
    "repair",
    "replace",
    "replace_all",
    "role",
    "split",
    "validate",
]
