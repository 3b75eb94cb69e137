"""Evidence: where in a database a text stands, and what a model call of a thread saw."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from perdure import errors
from perdure.core.conversations import summaries
from perdure.core.conversations.summaries import Summary
from perdure.langgraph.calls import Calls
from perdure.langgraph.catalogue import Catalogue
from perdure.langgraph.histories import History
from perdure.langgraph.saver import Saver
from perdure.langgraph.store import Store
from perdure.langgraph.stored import SearchItem
from perdure.model import Said, Thread

__all__ = ["Call", "Evidence", "holds"]

THREADS, ITEMS, CHECKPOINTS = 200, 10_000, 200
"""How many threads and checkpoints, newest first, and how many items are looked through."""
_PAGE = 1000


def holds(text: str, wanted: str) -> bool:
    """Return whether a text holds another, in capital or small letters, full-width or not."""
    return _plain(wanted) in _plain(text)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _text(message: BaseMessage) -> str:
    """Return what a message says, with the arguments of the tools it calls."""
    calls = getattr(message, "tool_calls", ())
    return "\n".join(
        [str(message.text), *(json.dumps(call["args"], ensure_ascii=False, default=str) for call in calls)]
    )


@dataclass(frozen=True, slots=True)
class Call:
    """A model call: its record, the state's messages at that time, and the summary that it saw."""

    record: Mapping[str, Any]
    messages: Sequence[BaseMessage]
    summary: Summary | None = None

    def notes(self, part: str) -> list[Mapping[str, Any]]:
        """Return what a part of the middleware has noted."""
        return [note for note in self.record["notes"] if note["part"] == part]

    def place(self, message_id: str | None) -> int | None:
        """Return where in the state a message stood; None if it was not there."""
        return next((at for at, message in enumerate(self.messages) if message.id == message_id), None)

    def saw(self, place: int) -> bool:
        """Return whether the model was shown the state's message of a place."""
        return any(first <= place <= last for first, last in self.record["seen"])


@dataclass(frozen=True, slots=True)
class Evidence:
    """Looks through the threads and items of one tenant. `cut`: there were more than are looked through."""

    calls: Calls
    cut: list[str] = field(default_factory=list)

    def thread(self, thread_id: str) -> Thread | None:
        """Return a thread of the catalogue."""
        return Catalogue(self.calls).get(thread_id)

    def threads(self) -> list[Thread]:
        """Return the newest threads."""
        page = Catalogue(self.calls).list(limit=THREADS)
        if page.cursor:
            self.cut.append(f"only the {THREADS} newest threads were looked through")
        return list(page.threads)

    def said(self, thread_id: str, wanted: str) -> list[Said]:
        """Return the messages of a thread, removed ones too, that hold a text."""
        return [one for one in History(self.calls, thread_id).transcript() if holds(_text(one.message), wanted)]

    def elsewhere(self, thread_id: str, wanted: str) -> list[str]:
        """Return the ids of other threads in which a text was said; three are enough."""
        found: list[str] = []
        for thread in self.threads():
            if thread.id != thread_id and len(found) < 3 and self.said(thread.id, wanted):
                found.append(thread.id)
        return found

    def items(self, wanted: str | None = None) -> Iterator[SearchItem]:
        """Yield items, those that hold a text if one is wanted."""
        store = Store(self.calls)
        for offset in range(0, ITEMS, _PAGE):
            page = store.search((), limit=_PAGE, offset=offset, refresh_ttl=False, superseded=True, quarantined=True)
            for item in cast("list[SearchItem]", page):
                if wanted is None or holds(json.dumps(item.value, ensure_ascii=False, default=str), wanted):
                    yield item
            if len(page) < _PAGE:
                return
        self.cut.append(f"only {ITEMS:,} items were looked through")

    def call(self, thread_id: str, step: int | None) -> Call | None:
        """Return a model call of a thread, the last if no step is named; None: none was recorded.

        It is one of the thread's own agent or, if that has recorded none, of the last subgraph that has.
        Raises NotFoundError if no model call was recorded in that step.
        """
        saver = Saver(self.calls)
        newest = self._newest(saver, thread_id)
        if newest is None:
            return None
        ledger = _ledger(newest)
        found = [record for record in ledger if step is None or record["step"] == step]
        if not found:
            known = ", ".join(str(record["step"]) for record in ledger[-20:])
            raise errors.NotFoundError(f"no model call was recorded in step {step} of {thread_id!r}; recorded: {known}")
        record = found[-1]
        config: RunnableConfig = {"configurable": {**newest.config["configurable"]}}
        del config["configurable"]["checkpoint_id"]
        then = next(iter(saver.list(config, filter={"step": record["step"]}, limit=1)), newest)
        values = then.checkpoint["channel_values"]
        messages = list(values.get("messages") or [])[: record["state"]]
        return Call(record, messages, summaries.standing(values.get("compaction"), messages))

    def _newest(self, saver: Saver, thread_id: str) -> CheckpointTuple | None:
        """Return the newest checkpoint with a ledger."""
        root = saver.get_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
        if root is not None and _ledger(root):
            return root
        listed = saver.list({"configurable": {"thread_id": thread_id}}, limit=CHECKPOINTS)
        return next((found for found in listed if _ledger(found)), None)


def _ledger(found: CheckpointTuple) -> list[dict[str, Any]]:
    return found.checkpoint["channel_values"].get("context_ledger") or []
