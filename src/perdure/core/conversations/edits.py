"""Edits: updates of the state's `messages` after which the rest is still a conversation.

Each returns what a node, a tool's `Command` or `update_state` gives as ``{"messages": …}``; LangGraph's
`add_messages` applies it by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from perdure import errors
from perdure.core.conversations.groups import grouped
from perdure.core.conversations.rules import Problem, validate

__all__ = ["remove", "remove_all", "replace", "replace_all"]


def remove(messages: Sequence[BaseMessage], unwanted: Iterable[BaseMessage | str]) -> list[RemoveMessage]:
    """Return the removal of messages, given or named by id, from the state's list.

    What can't stay without them goes too: the whole group of a tool call or result, and after a human message at the
    start the answers that would come first. Raises NotFoundError for a message that is not in the list.
    """
    gone = {_id_of(one) for one in unwanted}
    if absent := gone - {message.id for message in messages if message.id is not None}:
        raise _absent(min(map(str, absent)))
    parts = grouped(messages)
    begun = next((part.role for part in parts if part.role != "system"), "human")
    out: list[BaseMessage] = []
    for part in parts:
        leads = begun == "human" and part.role in {"ai", "tool"}  # nothing human is left before it
        if leads or any(message.id in gone for message in part.messages):
            out += part.messages
        elif part.role != "system":
            begun = ""
    return [RemoveMessage(id=message.id) for message in out if message.id is not None]


def _id_of(one: BaseMessage | str) -> str | None:
    return one if isinstance(one, str) else one.id


def _absent(name: str) -> errors.NotFoundError:
    return errors.NotFoundError(f"there is no message {name!r} in this list; take ids from the state's messages")


def remove_all() -> list[BaseMessage]:
    """Return the removal of all messages."""
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES)]


def replace_all(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return the replacement of all messages by others. Raises InvalidConversationError for a list that is none."""
    given = list(messages)
    if found := validate(given, unfinished=True):
        raise _invalid("the new messages", found)
    return [*remove_all(), *given]


def replace(messages: Sequence[BaseMessage], *new: BaseMessage) -> list[BaseMessage]:
    """Return the replacement of messages by new ones with their ids, each in its place.

    Raises NotFoundError for an id that is not in the list, InvalidConversationError if the list would be in a form
    that it is not in now, as when a call loses its result.
    """
    known = {message.id: at for at, message in enumerate(messages)}
    changed = list(messages)
    for message in new:
        if message.id is None or message.id not in known:
            raise _absent(str(message.id))
        changed[known[message.id]] = message
    before = validate(messages, unfinished=True)
    if found := [problem for problem in validate(changed, unfinished=True) if problem not in before]:
        raise _invalid("after this change the messages", found)
    return list(new)


def _invalid(what: str, found: Sequence[Problem]) -> errors.InvalidConversationError:
    listed = "; ".join(map(str, found[:5]))
    more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
    return errors.InvalidConversationError(f"{what} are no valid conversation: {listed}{more}. Nothing was changed.")
