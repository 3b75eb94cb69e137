"""Fitting: the part of a conversation that a budget has room for, still a valid conversation."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from langchain_core.messages import BaseMessage

from perdure import errors
from perdure.core.conversations.counting import Counter, approximate
from perdure.core.conversations.cutting import shortened
from perdure.core.conversations.groups import Conversation, Group, Turn, flat, split

__all__ = ["Budget", "Fitted", "Keep", "Oversize", "fit"]

Keep = Literal["last"] | Callable[[Sequence[Group]], Iterable[Group]]
Oversize = Literal["keep", "cut"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What there is room for. `tokens` None: any number; `fixed`: what is taken already, by tools, say.

    `oversize`: the last human message that is too long alone is kept as it is, or cut.
    """

    tokens: int | None = None
    turns: int | None = None
    keep: Keep = "last"
    oversize: Oversize = "keep"
    fixed: int = 0

    def __post_init__(self) -> None:
        """Raise InvalidInputError for what says no budget."""
        if self.tokens is not None and (type(self.tokens) not in {int, float} or math.isnan(self.tokens)):
            raise errors.InvalidInputError(f"tokens is a number, or None; not {self.tokens!r}")
        if self.turns is not None and (type(self.turns) is not int or self.turns < 1):
            raise errors.InvalidInputError(f"turns is a whole number from 1, or None; not {self.turns!r}")
        if self.keep != "last" and not callable(self.keep):
            raise errors.InvalidInputError(f'keep is "last" or a function over groups, not {self.keep!r}')
        if self.oversize not in get_args(Oversize):
            raise errors.InvalidInputError(f'oversize is "keep" or "cut", not {self.oversize!r}')


@dataclass(frozen=True, slots=True)
class Fitted:
    """What fits. `dropped`: messages left out; `cut`: the one shortened; `over`: it takes more than the budget."""

    messages: list[BaseMessage]
    dropped: tuple[BaseMessage, ...] = ()
    cut: BaseMessage | None = None
    tokens: int = 0
    over: bool = False


@dataclass(slots=True)
class _Choice:
    """Groups of a conversation, newest last, that are in; and what may not go."""

    found: Conversation
    kept: list[tuple[int, Group]]

    def messages(self) -> list[BaseMessage]:
        last = len(self.found.turns) - 1
        parts: dict[int, list[Group]] = {last: []} if last >= 0 else {}
        for at, group in self.kept:
            parts.setdefault(at, []).append(group)
        chosen = [*self.found.head]
        for at in sorted(parts):
            chosen += [*self.found.turns[at].opening, *flat(parts[at])]
        return chosen

    def starts(self) -> list[int]:
        """Return where what is kept may begin: with any turn; in the last one with any group."""
        last = len(self.found.turns) - 1
        turns = [at for at, _ in self.kept]
        found = [n for n, at in enumerate(turns) if n == 0 or at == last or at != turns[n - 1]]
        return found if turns and turns[-1] == last else [*found, len(turns)]


def fit(messages: Iterable[BaseMessage], budget: Budget, *, count: Counter = approximate) -> Fitted:
    """Return what of a conversation fits a budget: whole turns from the end, the newest of them at least in part.

    System messages, what Perdure has put before the conversation, the last human message and the group after which
    the model is asked stay in every case; `over` tells if they take more than there is. A conversation that needs
    it is repaired first.
    """
    found = split(messages)
    everything = _whole(found, budget, count)
    few = budget.turns is None or len(found.turns) <= budget.turns
    if not found.turns or (few and budget.keep == "last" and not everything.over):
        return everything
    choice = _last(found, budget, count) if budget.keep == "last" else _chosen(found, budget.keep, budget.turns)
    fitted = _counted(found, choice.messages(), budget, count=count)
    if fitted.over:  # a counter that is no sum, or a choice that did not look at the budget
        fitted = _narrowed(choice, budget, count)
    return _cut(found, fitted, budget, count) if fitted.over and budget.oversize == "cut" else fitted


def _whole(found: Conversation, budget: Budget, count: Counter) -> Fitted:
    messages = found.messages
    tokens = budget.fixed + count(messages)
    return Fitted(messages, tokens=tokens, over=budget.tokens is not None and tokens > budget.tokens)


def _counted(found: Conversation, chosen: list[BaseMessage], budget: Budget, *, count: Counter) -> Fitted:
    tokens = budget.fixed + count(chosen)
    inside = {id(message) for message in chosen}
    dropped = tuple(message for message in found.messages if id(message) not in inside)
    return Fitted(chosen, dropped, tokens=tokens, over=budget.tokens is not None and tokens > budget.tokens)


def _last(found: Conversation, budget: Budget, count: Counter) -> _Choice:
    """Choose from the end: groups of the last turn, then whole turns, until one does not fit."""
    last = len(found.turns) - 1
    turn = found.turns[last]
    room = float("inf") if budget.tokens is None else budget.tokens - budget.fixed - count([*found.head])
    kept: list[tuple[int, Group]] = []
    room -= count([*turn.opening, *flat(turn.groups[-1:])])
    kept += [(last, group) for group in turn.groups[-1:]]
    for group in reversed(turn.groups[:-1]):
        room -= count(group.messages)
        if room < 0:
            return _Choice(found, kept[::-1])
        kept.append((last, group))
    for at, turn in _earlier(found.turns, budget.turns):
        room -= count(turn.messages)
        if room < 0:
            break
        kept += [(at, group) for group in reversed(turn.groups or (Group(()),))]
    return _Choice(found, kept[::-1])


def _earlier(turns: Sequence[Turn], limit: int | None) -> Iterator[tuple[int, Turn]]:
    first = 0 if limit is None else max(0, len(turns) - limit)
    return ((at, turns[at]) for at in range(len(turns) - 2, first - 1, -1))


def _chosen(found: Conversation, keep: Callable[[Sequence[Group]], Iterable[Group]], limit: int | None) -> _Choice:
    """Choose what a function keeps; a group brings the human message that its turn opens with."""
    places = [
        (at, group, opens)
        for at, turn in enumerate(found.turns)
        for opens, part in ((True, [Group((message,)) for message in turn.opening]), (False, turn.groups))
        for group in part
    ]
    wanted = {id(group) for group in keep([group for _, group, _ in places])}
    last = len(found.turns) - 1
    first = 0 if limit is None else last + 1 - limit
    must = {id(group) for group in found.turns[last].groups[-1:]}
    kept = [
        (at, Group(()) if opens else group)
        for at, group, opens in places
        if (id(group) in wanted and at >= first) or id(group) in must
    ]
    return _Choice(found, kept)


def _narrowed(choice: _Choice, budget: Budget, count: Counter) -> Fitted:
    """Leave out the oldest turns that are in and, of the last one, its oldest groups, until the rest fits.

    Asks for as few counts as it can: steps that double, then the halves of the last one.
    """
    starts = choice.starts()

    def fitted(step: int) -> Fitted:
        rest = _Choice(choice.found, choice.kept[starts[step] :])
        return _counted(choice.found, rest.messages(), budget, count=count)

    last, step = len(starts) - 1, 1
    while step < last and fitted(step).over:
        step *= 2
    some = range(step // 2 + 1, min(step, last) + 1)
    return fitted(min(last, bisect_left(some, 1, key=lambda at: not fitted(at).over) + step // 2 + 1))


def _cut(found: Conversation, fitted: Fitted, budget: Budget, count: Counter) -> Fitted:
    """Shorten the last human message so far that the rest fits."""
    old = found.turns[-1].opening[-1] if found.turns[-1].opening else None
    if old is None or budget.tokens is None:
        return fitted
    rest = [message for message in fitted.messages if message is not old]
    new = shortened(old, budget.tokens - budget.fixed - count(rest), count)
    chosen = [new if message is old else message for message in fitted.messages]
    tokens = budget.fixed + count(chosen)
    return Fitted(chosen, fitted.dropped, None if new is old else old, tokens, tokens > budget.tokens)
