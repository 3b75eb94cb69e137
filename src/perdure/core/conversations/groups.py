"""Groups and turns: the parts of a conversation that may be kept or left out as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage

from perdure.core.conversations import marks
from perdure.core.conversations.calls import answered, calls, role
from perdure.core.conversations.repairs import repair

__all__ = ["Conversation", "Group", "Turn", "flat", "grouped", "groups", "parted", "split"]

_HEAD = {"summary", "profile"}


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that stay together: a message, or an AI message with the results of its calls."""

    messages: tuple[BaseMessage, ...]

    @property
    def role(self) -> str:
        """What its first message counts as: ``system``, ``human`` or ``ai``."""
        return role(self.messages[0])


@dataclass(frozen=True, slots=True)
class Turn:
    """A human message and what came after it. `opening` also holds memories that were put before it."""

    opening: tuple[BaseMessage, ...]
    groups: tuple[Group, ...] = ()

    @property
    def messages(self) -> list[BaseMessage]:
        """All its messages."""
        return [*self.opening, *flat(self.groups)]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A valid conversation. `head`: system messages, then a profile and a summary, which belong to no turn."""

    head: tuple[BaseMessage, ...] = ()
    turns: tuple[Turn, ...] = ()

    @property
    def messages(self) -> list[BaseMessage]:
        """All its messages, in the order in which a model should see them."""
        found = [*self.head]
        for turn in self.turns:
            found += turn.opening
            for group in turn.groups:
                found += group.messages
        return found


def flat(given: Iterable[Group]) -> list[BaseMessage]:
    """Return the messages of groups."""
    return [message for group in given for message in group.messages]


def groups(messages: Iterable[BaseMessage]) -> list[Group]:
    """Return the groups of a conversation, repaired if it has to be."""
    return grouped(repair(messages))


def grouped(messages: Iterable[BaseMessage]) -> list[Group]:
    """Return the groups of a list as it stands: tool results belong to the AI message before them, if there is one."""
    found: list[list[BaseMessage]] = []
    for message in messages:
        if role(message) == "tool" and found and role(found[-1][0]) == "ai":
            found[-1].append(message)
        else:
            found.append([message])
    return [Group(tuple(group)) for group in found]


def parted(given: Sequence[Group], at: int) -> int:
    """Return the last place up to `at` at which groups can be parted without a call here and its result there."""
    waiting: dict[str, int] = {}  # calls without a result so far, and the group that makes them
    bound: list[tuple[int, int]] = []  # groups of which the second holds a result for the first
    for number, group in enumerate(given):
        made = {call.id for call in calls(group.messages[0]) if call.id}
        for named in filter(None, map(answered, group.messages)):
            if named in made:
                made.discard(named)
            elif named in waiting:
                bound.append((waiting.pop(named), number))
        waiting.update(dict.fromkeys(made, number))
    for first, second in sorted(bound, reverse=True):
        if first < at <= second:
            at = first
    return at


@dataclass(slots=True)
class _Open:
    opening: list[BaseMessage]
    groups: list[Group] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        """Whether it holds only memories, which belong to the human message that comes next."""
        return not self.groups and marks.kind_of(self.opening[-1]) == "memories"


def split(messages: Iterable[BaseMessage]) -> Conversation:
    """Return a conversation's parts, repaired if it has to be."""
    head: list[BaseMessage] = []
    turns: list[_Open] = []
    for group in groups(messages):
        first, kind = group.messages[0], group.role
        if kind == "system" or (kind == "human" and marks.kind_of(first) in _HEAD):
            head.append(first)
        elif kind == "ai":
            turns[-1].groups.append(group) if turns else turns.append(_Open([], [group]))
        elif turns and turns[-1].waits:
            turns[-1].opening.append(first)
        else:
            turns.append(_Open([first]))
    return Conversation(tuple(head), _closed(turns))


def _closed(turns: Sequence[_Open]) -> tuple[Turn, ...]:
    return tuple(Turn(tuple(turn.opening), tuple(turn.groups)) for turn in turns)
