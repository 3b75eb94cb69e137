"""Whether two states are equal: the same values, to the type of each part."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage

from perdure.moving.states import Pack, Pending, State

__all__ = ["Comparison", "ordered"]

_NOT_SAID = ("updated_channels", None)


class Comparison:
    """Compares the states of one thread with those of another database.

    Conversations repeat in state after state, and readers give out the same objects again; so a pair of messages is
    compared once. The pairs are kept, so that none of their objects' places in memory is taken by another.
    """

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self._equal: dict[tuple[int, int], tuple[object, object]] = {}

    def difference(self, one: State, other: State) -> str | None:
        """Return what differs between two states, their writes aside; None: nothing does."""
        if one.key.parent != other.key.parent:
            return "parent"
        if not self._same(ordered(one.metadata), ordered(other.metadata)):
            return "metadata"
        ours, theirs = _fields(one), _fields(other)
        if ours.keys() != theirs.keys():
            return min(ours.keys() ^ theirs.keys())
        found = next((name for name in ours if not self._same(ordered(ours[name]), ordered(theirs[name]))), None)
        return found or self._channel(one.checkpoint["channel_values"], other.checkpoint["channel_values"])

    def _channel(self, values: dict[str, Any], others: dict[str, Any]) -> str | None:
        if values.keys() != others.keys():
            return f"channel {min(values.keys() ^ others.keys())!r}"
        return next((f"channel {name!r}" for name in values if not self._equals(values[name], others[name])), None)

    def _equals(self, one: Any, other: Any) -> bool:
        if type(one) is list and type(other) is list and one and isinstance(one[0], BaseMessage):
            return len(one) == len(other) and all(map(self._pair, one, other))
        return self._same(one, other)

    def _pair(self, one: object, other: object) -> bool:
        key = (id(one), id(other))
        if key in self._equal:
            return True
        if not self._same(one, other):
            return False
        self._equal[key] = (one, other)
        return True

    def _same(self, one: object, other: object) -> bool:
        return self.pack(one) == self.pack(other)

    def missing_writes(self, wanted: State, there: State) -> tuple[list[Pending], int, Pending | None]:
        """Return the writes that are wanted and not there, how many only are there, and one that differs.

        A task's interrupt or error is replaced when it goes on: one that differs is missing where the wanted state has
        gone on, and is left where the other has.
        """
        found = {(write.task, write.index): write for write in there.writes}
        missing: list[Pending] = []
        replaced: list[Pending] = []
        for write in wanted.writes:
            other = found.pop((write.task, write.index), None)
            if other is None:
                missing.append(write)
            elif not self._same_write(write, other):
                if write.index >= 0:
                    return [], 0, write
                replaced.append(write)
        if replaced and bool(missing) == bool(found):
            return [], 0, replaced[0]
        return missing + (replaced if missing else []), len(found), None

    def _same_write(self, one: Pending, other: Pending) -> bool:
        return (one.path, one.channel) == (other.path, other.channel) and self._equals(one.value, other.value)


def _fields(state: State) -> dict[str, Any]:
    given = state.checkpoint
    return {name: given[name] for name in given if name != "channel_values" and (name, given[name]) != _NOT_SAID}


def ordered(value: Any) -> Any:
    """Return plain data with its keys in order: JSON of a database need not keep theirs."""
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(part) for part in value] if type(value) is list else value
