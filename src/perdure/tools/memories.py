"""Memory tools: a model remembers, recalls, changes and forgets what it is told about a user."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, ToolException

from perdure import errors
from perdure.core import ids, text
from perdure.core.conversations import approximate
from perdure.langgraph import contexts, putting, showing
from perdure.langgraph.contexts import Labels, Namespace
from perdure.langgraph.reaching import Reach
from perdure.memory import Memory
from perdure.model import Source
from perdure.tools import forms
from perdure.tools.forms import Runtime, tool

__all__ = ["memory_tools"]

_ROOM: Final = 4000
"""Tokens that what is recalled may take."""
_LONGEST_SOURCE: Final = 1024
_PLACES: Final = 16
_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]{0,40}")


def memory_tools(
    memory: Memory,
    *,
    namespace: Namespace = ("memories", "{user_id}"),
    prefix: str = "",
    longest: int = 2000,
    limit: int = 5,
    min_score: float | None = None,
) -> list[BaseTool]:
    """Return the tools ``remember``, ``recall``, ``update_memory`` and ``forget``, for `create_agent`.

    The model fills in texts and ids. Whose memories they are, the run says (`contexts.Namespace`), and the tenant is
    the run's too. `prefix` goes before each name, `longest` is the length of a text in characters; `limit` and
    `min_score` are those of a search.
    """
    _check(namespace, prefix, longest=longest, limit=limit, min_score=min_score)
    ways = _Ways(namespace, longest, limit, min_score)
    return [
        tool(
            f"{prefix}remember",
            "Remember one thing about the user for later conversations. "
            f"At most {longest:,} characters; the same text twice is one memory.",
            forms.Text,
            ways.remember,
            memory.store,
        ),
        tool(
            f"{prefix}recall",
            "Look up what is remembered about the user. Each memory comes with its key.",
            forms.Question,
            ways.recall,
            memory.store,
        ),
        tool(
            f"{prefix}update_memory",
            "Change what one memory says, when it is no longer right. It keeps its key.",
            forms.Change,
            ways.update,
            memory.store,
        ),
        tool(
            f"{prefix}forget",
            "Forget one memory, when the user asks for it or it was wrong.",
            forms.ById,
            ways.forget,
            memory.store,
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Ways:
    """What each tool does. A ToolException is for the model to mend; everything else stops the run."""

    namespace: Namespace
    longest: int
    limit: int
    min_score: float | None

    async def remember(self, reach: Reach, runtime: Runtime, text: str) -> str:
        labels, said = self._labels(runtime), self._said("text", text)
        for key in _keys(said):
            try:
                await reach.put(labels, key, {"text": said}, if_absent=True, kind="semantic", source=_source(runtime))
            except errors.VersionConflictError as error:
                if _holds(error.current, said):
                    return f"That is remembered already, under the key {key}."
            else:
                return f"Remembered under the key {key}."
        raise errors.ConflictError(f"{_PLACES} items have the keys of this text, and other values; forget some of them")

    async def recall(self, reach: Reach, runtime: Runtime, query: str) -> str:
        labels, asked = self._labels(runtime), self._said("query", query)
        found = await reach.search(labels, query=asked, limit=self.limit, min_score=self.min_score)
        shown = showing.memories(found, labels, dt.datetime.now(dt.UTC), _fits)
        left = f"\n{len(shown.no_room)} more had no room; ask for less at once." if shown.no_room else ""
        return (shown.text or "Nothing is remembered about that.") + left

    async def update(self, reach: Reach, runtime: Runtime, id: str, text: str) -> str:  # noqa: A002 - the model's word
        labels, key, said = self._labels(runtime), _key(id), self._said("text", text)

        def changed(value: dict[str, Any]) -> dict[str, Any]:
            if not isinstance(value.get("text"), str):
                raise ToolException(f"The memory {_shown(key)} is no text, so it can't be changed in this way.")
            return {**value, "text": said}

        try:
            await reach.update(labels, key, changed, source=_source(runtime), confidence=None)
        except errors.NotFoundError:
            raise _unknown(key) from None
        return f"Changed the memory {_shown(key)}."

    async def forget(self, reach: Reach, runtime: Runtime, id: str) -> str:  # noqa: A002 - the model's word
        labels, key = self._labels(runtime), _key(id)
        if await reach.get(labels, key) is None:
            raise _unknown(key)
        await reach.delete(labels, key)
        return f"Forgot the memory {_shown(key)}."

    def _labels(self, runtime: Runtime) -> Labels:
        return contexts.resolve(self.namespace, runtime, "memory_tools")

    def _said(self, name: str, given: str) -> str:
        said = given.strip()
        if not said:
            raise ToolException(f"{name} is empty; nothing was done. Give it 1 to {self.longest:,} characters.")
        if len(said) > self.longest:
            raise ToolException(
                f"{name} has {len(said):,} characters, and {self.longest:,} is the limit; nothing was done. Shorten it."
            )
        return said


def _check(namespace: Namespace, prefix: str, *, longest: int, limit: int, min_score: float | None) -> None:
    contexts.check(namespace, "memory_tools")
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise errors.ConfigurationError(
            f"memory_tools: prefix is up to 40 letters, digits, '_' and '-', as in the names of tools, not {prefix!r}"
        )
    for name, given, most in (("longest", longest, 100_000), ("limit", limit, 100)):
        if type(given) is not int or not 1 <= given <= most:
            raise errors.ConfigurationError(f"memory_tools: {name} is a whole number from 1 to {most:,}, not {given!r}")
    if min_score is not None and (isinstance(min_score, bool | str) or not -1 <= min_score <= 1):
        raise errors.ConfigurationError(f"memory_tools: min_score is a number from -1 to 1, not {min_score!r}")


def _plain(said: str) -> str:
    """Return what makes two texts the same memory: their words."""
    return unicodedata.normalize("NFC", " ".join(said.split()))


def _keys(said: str) -> Iterator[str]:
    """Yield the key of a text, and the next ones: an item may have been given another text, under its old key."""
    digest = hashlib.sha256(_plain(said).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    yield f"m-{digest}"
    yield from (f"m-{digest}-{number}" for number in range(2, _PLACES + 1))


def _holds(item: Any, said: str) -> bool:
    if item is None or item.about.superseded_by is not None:
        return False
    known = item.value.get("text")
    return isinstance(known, str) and _plain(known) == _plain(said)


def _fits(shown: str) -> bool:
    return approximate([HumanMessage(shown)]) <= _ROOM


def _key(given: str) -> str:
    try:
        return putting.check_key(given)
    except errors.InvalidIdError:
        raise _unknown(given) from None


def _unknown(key: str) -> ToolException:
    return ToolException(f"There is no memory {_shown(key)}; nothing was done. Recall shows the keys there are.")


def _shown(key: str) -> str:
    return repr(text.inline(key[:100]))


def _source(runtime: Runtime) -> Source:
    thread = runtime.config.get("configurable", {}).get("thread_id")
    return Source(channel="model", thread=_told(thread), message=_told(_message(runtime) or runtime.tool_call_id))


def _message(runtime: Runtime) -> str | None:
    """Return the id of the message that makes the call."""
    state = runtime.state
    messages = state.get("messages", ()) if isinstance(state, dict) else getattr(state, "messages", ())
    for message in reversed(messages):
        if any(call.get("id") == runtime.tool_call_id for call in getattr(message, "tool_calls", ())):
            found: str | None = message.id
            return found
    return None


def _told(given: object) -> str | None:
    return (ids.printable(str(given))[:_LONGEST_SOURCE] or None) if given is not None else None
