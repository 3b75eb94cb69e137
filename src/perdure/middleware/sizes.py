"""Sizes: LangChain's ways to say how large a conversation may become, and how much of it stays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langchain.agents.middleware.summarization import ContextSize, TriggerClause

from perdure import errors
from perdure.core.conversations import Counter, Group

__all__ = ["Keep", "Trigger", "check_keep", "clauses", "kept", "limit_of", "met"]

Trigger = ContextSize | TriggerClause | list[ContextSize | TriggerClause]
"""LangChain's triggers, as `SummarizationMiddleware` takes them: one size; sizes that must all be reached, as a
dictionary; or a list of which any is enough."""

Keep = ContextSize | tuple[Literal["turns"], int]
"""How much stays as it was said: messages, tokens, a fraction of what the model takes, or human turns."""

_KINDS = ("tokens", "messages", "fraction")


def clauses(trigger: Trigger) -> list[dict[str, float]]:
    """Return a trigger as clauses of which one must be met. Raises ConfigurationError."""
    given = trigger if isinstance(trigger, list) else [trigger]
    found = [dict(one) if isinstance(one, Mapping) else dict([one]) for one in given if _is_form(one)]
    if not found or len(found) != len(given) or not all(found):
        raise errors.ConfigurationError(
            f'trigger is ("tokens", 4000), {{"tokens": 4000, "messages": 10}} or a list of such, not {trigger!r}'
        )
    for clause in found:
        for kind, size in clause.items():
            _check("trigger", kind, size, _KINDS)
    return found  # type: ignore[return-value] # the numbers were checked just now


def _is_form(one: object) -> bool:
    return isinstance(one, Mapping) or (isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str))


def check_keep(keep: Keep) -> None:
    """Refuse what says no size. Raises ConfigurationError."""
    if not _is_form(keep) or isinstance(keep, Mapping):
        raise errors.ConfigurationError(f'keep is ("messages", 20), ("turns", 3) or the like, not {keep!r}')
    kind, size = keep
    _check("keep", kind, size, (*_KINDS, "turns"))


def _check(what: str, kind: object, size: object, kinds: Sequence[str]) -> None:
    if kind not in kinds:
        raise errors.ConfigurationError(f"{what} counts {', '.join(kinds)}; not {kind!r}")
    fraction = kind == "fraction"
    allowed = (int, float) if fraction else (int,)
    number = float(str(size)) if type(size) in allowed else 0
    if not 0 < number <= (1 if fraction else math.inf):
        raise errors.ConfigurationError(
            f"{what}: {kind} is a {'number above 0, up to 1' if fraction else 'whole number from 1'}, not {size!r}"
        )


def met(found: Sequence[Mapping[str, float]], sizes: Callable[[str], float]) -> Mapping[str, float] | None:
    """Return the first clause of which all sizes are reached; `sizes` says how large something is."""
    return next((clause for clause in found if all(sizes(kind) >= least for kind, least in clause.items())), None)


def kept(groups: Sequence[Group], keep: Any, count: Counter) -> int:
    """Return how many groups at the end stay: as many as `keep` has room for, and one in every case."""
    kind, room = keep
    stays = 0
    for group in reversed(groups):
        if kind == "turns":
            room -= int(group.role == "human")
        else:
            room -= len(group.messages) if kind == "messages" else count(group.messages)
        if room < 0 and stays:
            break
        stays += 1
        if kind == "turns" and room == 0 and group.role == "human":
            break
    return stays


def limit_of(model: Any) -> int | None:
    """Return how many tokens a model says it takes."""
    profile = getattr(model, "profile", None)
    found = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    return found if type(found) is int and found > 0 else None
