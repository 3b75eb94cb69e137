"""Items as the store returns them: LangGraph's, with what else is known about them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.store.base import Item as BaseItem
from langgraph.store.base import SearchItem as BaseSearchItem

from perdure.core import threads
from perdure.model import About

if TYPE_CHECKING:
    from perdure.core.codec import Codec
    from perdure.core.items import Record
    from perdure.core.search.finding import Found
    from perdure.core.search.scores import Explanation

__all__ = ["Item", "SearchItem", "item", "search_item", "value_of"]


class State(NamedTuple):
    """What LangGraph's item has no field for."""

    version: int
    expires_at: datetime | None
    about: About


class _Known:
    """What an item of ours says beside what LangGraph's says."""

    __slots__ = ()
    state: State

    @property
    def version(self) -> int:
        """How often the item was stored since it was made; for `put(…, if_version=…)`."""
        return self.state.version

    @property
    def expires_at(self) -> datetime | None:
        """When it is gone; None: never."""
        return self.state.expires_at

    @property
    def about(self) -> About:
        """Its kind, source, confidence and the like."""
        return self.state.about


class Item(_Known, BaseItem):
    """An item of the store. `version` counts its changes from 1; `about` is what `put` was told beside the value."""

    __slots__ = ("state",)


class SearchItem(_Known, BaseSearchItem):
    """An item that a search has found, with its `score`."""

    __slots__ = ("explanation", "state")
    explanation: Explanation | None
    """Why it has its score, if the search was asked to explain."""


def value_of(codec: Codec, record: Record) -> Any:
    """Decode an item's value."""
    where = f"item {record.key!r} in {record.namespace!r}"
    return codec.unpack(codec.open(record.value, where=where), where=where)


def item(codec: Codec, record: Record) -> Item:
    """Return what `get` returns."""
    found = Item(
        value=value_of(codec, record),
        key=record.key,
        namespace=record.namespace,
        created_at=threads.moment(record.created_at),
        updated_at=threads.moment(record.updated_at),
    )
    found.state = _state(record)
    return found


def search_item(codec: Codec, given: Found) -> SearchItem:
    """Return what `search` returns."""
    record = given.record
    found = SearchItem(
        namespace=record.namespace,
        key=record.key,
        value=value_of(codec, record),
        created_at=threads.moment(record.created_at),
        updated_at=threads.moment(record.updated_at),
        score=given.score,
    )
    found.explanation = given.explanation
    found.state = _state(record)
    return found


def _state(record: Record) -> State:
    end = None if record.expires_at is None else threads.moment(record.expires_at)
    return State(record.version, end, record.about)
