"""What changed between two states: messages by id, other lists by element, dictionaries by key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from perdure.cli.conversation import is_conversation, is_message, summary
from perdure.cli.values import compact
from perdure.core import text

__all__ = ["Change", "between", "lines"]

_MATCHED = 2000
"""Elements up to which two lists are aligned; longer ones are compared place by place."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `sign` is ``+`` (new), ``-`` (gone) or ``~`` (another value)."""

    sign: str
    path: str
    before: Any = None
    after: Any = None

    def plain(self) -> dict[str, Any]:
        """Return the change for programs."""
        found = {"sign": self.sign, "path": self.path}
        sides = {"+": ("after",), "-": ("before",), "~": ("before", "after")}[self.sign]
        return found | {side: getattr(self, side) for side in sides}


def between(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[Change]:
    """Yield the changes that lead from one dictionary of plain values to another, key by key."""
    for key in [*before, *(key for key in after if key not in before)]:
        yield from _values(before, after, key, _joined(path, key))


def _joined(path: str, key: str) -> str:
    if not path:
        return key
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def _values(before: Mapping[str, Any], after: Mapping[str, Any], key: str, path: str) -> Iterator[Change]:
    if key in before and key in after:
        yield from _pair(before[key], after[key], path)
    elif key in before:
        yield from _pair(before[key], [], path) if _ids(before[key]) else [Change("-", path, before=before[key])]
    else:
        yield from _pair([], after[key], path) if _ids(after[key]) else [Change("+", path, after=after[key])]


def _pair(before: Any, after: Any, path: str) -> Iterator[Change]:
    if _same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict) and not is_message(before):
        yield from between(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        named = _ids(before) is not None and _ids(after) is not None
        yield from _messages(before, after, path) if named else _elements(before, after, path)
    else:
        yield Change("~", path, before, after)


def _ids(values: Any) -> list[str] | None:
    """Return the ids of messages; None if these aren't messages with an id each."""
    if values != [] and not is_conversation(values):
        return None
    found = [value.get("id") for value in values]
    return found if all(found) and len(set(found)) == len(found) else None


def _messages(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[Change]:
    old = {message["id"]: (at, message) for at, message in enumerate(before)}
    new = {message["id"] for message in after}
    for at, message in old.values():
        if message["id"] not in new:
            yield Change("-", f"{path}[{at}]", before=message)
    for at, message in enumerate(after):
        known = old.get(message["id"])
        if known is None:
            yield Change("+", f"{path}[{at}]", after=message)
        elif not _same(known[1], message):
            yield Change("~", f"{path}[{at}]", known[1], message)


def _elements(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[Change]:
    old, new = list(map(_key, before)), list(map(_key, after))
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > _MATCHED:
        opcodes = [("replace", 0, len(old), 0, len(new))]
    else:
        opcodes = list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    for kind, a, b, c, d in opcodes:
        if kind != "equal":
            yield from _block(before[start + a : start + b], after[start + c : start + d], path, (start + a, start + c))


def _block(before: Sequence[Any], after: Sequence[Any], path: str, at: tuple[int, int]) -> Iterator[Change]:
    both = min(len(before), len(after))
    for place in range(both):
        yield Change("~", f"{path}[{at[1] + place}]", before[place], after[place])
    for place in range(both, len(before)):
        yield Change("-", f"{path}[{at[0] + place}]", before=before[place])
    for place in range(both, len(after)):
        yield Change("+", f"{path}[{at[1] + place}]", after=after[place])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _same(before: Any, after: Any) -> bool:
    return before is after or _key(before) == _key(after)


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def lines(changes: Sequence[Change]) -> list[str]:
    """Return changes for people, a line each; two for another value."""
    found: list[str] = []
    for change in changes:
        head = f"{change.sign} {text.inline(change.path)}"
        if change.sign == "~":
            found += [head, f"    - {_shown(change.before)}", f"    + {_shown(change.after)}"]
        else:
            found.append(f"{head}  {_shown(change.after if change.sign == '+' else change.before)}")
    return found


def _shown(value: Any) -> str:
    return text.inline(summary(value) if is_message(value) else compact(value))
