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
_OURS = {"messages", "context_ledger", "compaction"}
_FIELDS = {"at", "step", "tokens", "state", "digest", "seen", "changed", "notes"}


def holds(text: str, wanted: str) -> bool:
    """Return whether a text holds another, in capital or small letters, full-width or not, on whatever lines."""
    return _plain(wanted) in _plain(text)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _text(message: BaseMessage) -> str:
    """Return what a message says, with the arguments of the tools it calls."""
    calls = getattr(message, "tool_calls", ())
    return "\n".join([str(message.text), *(_dumped(call["args"]) for call in calls)])


def _dumped(value: object) -> str:
    """Return a value as JSON and, on lines of their own, its texts as they are, without JSON's escapes."""
    written = json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)
    return "\n".join([written, *_texts(value)])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


@dataclass(frozen=True, slots=True)
class Call:
    """A model call: its record, the state's messages at that time, and the summary that it saw.

    `messages` None: no checkpoint has that state any more.
    """

    record: Mapping[str, Any]
    messages: Sequence[BaseMessage] | None
    summary: Summary | None = None

    def notes(self, part: str) -> list[Mapping[str, Any]]:
        """Return what a part of the middleware has noted."""
        return [note for note in self.record["notes"] if note["part"] == part]

    def place(self, message_id: str | None) -> int | None:
        """Return where in the state a message stood; None if it was not there."""
        return next((at for at, message in enumerate(self.messages or ()) if message.id == message_id), None)

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

    def channels(self, thread_id: str, wanted: str) -> list[str]:
        """Return the names of a thread's channels, other than the messages, that hold a text now."""
        newest = Saver(self.calls).get_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
        values = newest.checkpoint["channel_values"] if newest else {}
        return [
            name
            for name, value in values.items()
            if name not in _OURS and not name.startswith("__") and holds(_dumped(value), wanted)
        ]

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
                if wanted is None or holds(_dumped(item.value), wanted):
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
        then, before = _around(saver, newest, record)
        held = (_messages(state)[: record["state"]] for state in (then, before, newest) if state is not None)
        messages = next((one for one in held if summaries.digest(one) == record["digest"]), None)
        value = (then or newest).checkpoint["channel_values"].get("compaction")
        return Call(record, messages, None if messages is None else summaries.standing(value, messages))

    def _newest(self, saver: Saver, thread_id: str) -> CheckpointTuple | None:
        """Return the newest checkpoint with a ledger."""
        root = saver.get_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
        if root is not None and _ledger(root):
            return root
        listed = saver.list({"configurable": {"thread_id": thread_id}}, limit=CHECKPOINTS)
        return next((found for found in listed if _ledger(found)), None)


def _ledger(found: CheckpointTuple) -> list[dict[str, Any]]:
    """Return the records of a checkpoint; a channel of somebody else's that has the ledger's name holds none."""
    held = found.checkpoint["channel_values"].get("context_ledger")
    return [one for one in held if isinstance(one, dict) and one.keys() >= _FIELDS] if isinstance(held, list) else []


def _messages(found: CheckpointTuple) -> list[BaseMessage]:
    held = found.checkpoint["channel_values"].get("messages")
    return [one for one in held if isinstance(one, BaseMessage)] if isinstance(held, list) else []


def _around(
    saver: Saver, newest: CheckpointTuple, record: Mapping[str, Any]
) -> tuple[CheckpointTuple | None, CheckpointTuple | None]:
    """Return the checkpoint that a call's step has written, which may be one of several forks, and the one before."""
    config: RunnableConfig = {"configurable": {**newest.config["configurable"]}}
    del config["configurable"]["checkpoint_id"]
    listed = saver.list(config, filter={"step": record["step"]})
    then = next((found for found in listed if record in _ledger(found)), None)
    before = saver.get_tuple(then.parent_config) if then and then.parent_config else None
    return then, before
