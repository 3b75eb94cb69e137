"""Histories: a thread's messages as LangChain's `BaseChatMessageHistory`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from perdure import errors
from perdure.core import checkpoints, histories, ids, lookups, threads
from perdure.core.threads import State
from perdure.engine import drive
from perdure.langgraph import adding, heads
from perdure.langgraph.bridges import ChainMemory
from perdure.langgraph.calls import Calls
from perdure.langgraph.configs import ambient
from perdure.langgraph.heads import Head
from perdure.langgraph.styles import Awaiting, Blocking, Style
from perdure.model import Address, Said

__all__ = ["History"]

ATTEMPTS: Final = 200
"""How often messages are merged. Each time that it was for nothing, somebody else has changed the thread."""
LARGEST_LIMIT: Final = 2**31


class History(BaseChatMessageHistory):
    """The messages of one thread: those that agents with the same memory see in it. Made by `Memory.history`.

    Its tenant and subject are those of the memory's scope, or of the run that it is made in.
    """

    def __init__(self, calls: Calls, thread_id: str, channel: str = "messages") -> None:
        super().__init__()
        scope, configurable = calls.scope, ambient()
        self._calls = calls
        self._channel = adding.checked_channel(channel)
        self._address = Address(
            tenant=scope.tenant_for(configurable),
            thread=ids.check(thread_id, "thread_id"),
            subject=scope.subject_for(configurable),
        )

    @property
    def thread_id(self) -> str:
        """The thread's id."""
        return self._address.thread

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # LangChain's own examples make it a property
        """The messages of the thread's present state; none if there is no such thread."""
        return drive(self._messages(Blocking(self._calls)))

    async def aget_messages(self) -> list[BaseMessage]:
        """Do what `messages` does."""
        return await self._messages(Awaiting(self._calls))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, all or none, by LangGraph's own rule for them.

        One without an id is given one, in place; one whose id is there takes the other's place, so that adding it
        again changes nothing; a RemoveMessage removes. If the list stays as it is, no checkpoint is written.
        Raises ConflictError while the thread waits for an interrupt's answer or has a run half done, and in that run.
        """
        drive(self._add(Blocking(self._calls), messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Do what `add_messages` does."""
        await self._add(Awaiting(self._calls), messages)

    def clear(self) -> None:
        """Empty the messages of the thread's present state.

        The thread, its earlier checkpoints and its other channels stay, so `transcript` still has what was said.
        That is not `memory.threads.delete`, which removes it all; nor another thread id, which leaves it all; nor
        trimming what the model is sent, which changes nothing that is stored.
        """
        drive(self._add(Blocking(self._calls), _all_removed()))

    async def aclear(self) -> None:
        """Do what `clear` does."""
        await self._add(Awaiting(self._calls), _all_removed())

    def transcript(self, *, limit: int | None = None) -> list[Said]:
        """Return all that was ever said in the thread, each message once, in order of first appearance.

        That is, what its present state or a checkpoint that this descends from holds: removed messages too, until
        `prune` takes those checkpoints. Of an id with several contents it is the last one; of a tool's result that
        was cleared, the result. With a `limit` only the last ones.
        """
        return drive(self._transcript(Blocking(self._calls), limit))

    async def atranscript(self, *, limit: int | None = None) -> list[Said]:
        """Do what `transcript` does."""
        return await self._transcript(Awaiting(self._calls), limit)

    def find(self, message_id: str) -> BaseMessage | None:
        """Return the message of an id from the thread's transcript, None if it has none."""
        return _named(message_id, drive(self._transcript(Blocking(self._calls), None)))

    async def afind(self, message_id: str) -> BaseMessage | None:
        """Do what `find` does."""
        return _named(message_id, await self._transcript(Awaiting(self._calls), None))

    def as_memory(
        self,
        memory_key: str = "history",
        input_key: str | None = None,
        output_key: str | None = None,
        *,
        return_messages: bool = True,
    ) -> ChainMemory:
        """Return an object that chains written for LangChain's old memory classes load from and save to.

        A bridge for what is there; a new application uses an agent with `memory.checkpointer`.
        """
        return ChainMemory(self, memory_key, input_key, output_key, return_messages=return_messages)

    # The work of each, written once

    async def _messages(self, style: Style) -> list[BaseMessage]:
        return (await self._head(style)).messages(self._channel)

    async def _add(self, style: Style, messages: Sequence[BaseMessage]) -> None:
        new = adding.checked(messages)
        if not new:
            return
        async with style.turn((self._address.tenant, f"\0{self._address.thread}")):
            for _ in range(ATTEMPTS):
                head = await self._head(style, shared=True)
                old = head.messages(self._channel)
                merged = adding.merged(old, new)
                if not adding.differ(old, merged):
                    return
                adding.refuse_inside(self._address)
                adding.refuse_waiting(self._address, head.found)
                try:
                    await style.store(head.after, head.follow(self._channel, old, merged))
                    return
                except (checkpoints.MovedOnError, errors.FencedError):
                    continue
        raise errors.ConflictError(
            f"{self._address} was changed by somebody else {ATTEMPTS} times while messages were added to it; nothing "
            "was stored. Try again"
        )

    async def _head(self, style: Style, *, shared: bool = False) -> Head:
        calls, address = self._calls, self._address
        state, found = await style.read(
            address.tenant, lambda unit: lookups.seen(unit, calls.codec, calls.caches, address)
        )
        calls.caches.sight(address.tenant, address.thread, state.generation if state else 0, root=True)
        self._refuse_others(state)
        return heads.look(calls, address, state, found, shared=shared)

    async def _transcript(self, style: Style, limit: int | None) -> list[Said]:
        if limit is not None:
            threads.check_limit(limit, largest=LARGEST_LIMIT)
        calls, address, channel = self._calls, self._address, self._channel
        found = await style.read(
            address.tenant, lambda unit: histories.walk(unit, calls.codec, calls.caches, address, channel)
        )
        self._refuse_others(found.state)
        every = histories.said(calls.codec, found, str(address), channel)
        return every if limit is None else every[max(0, len(every) - limit) :]

    def _refuse_others(self, state: State | None) -> None:
        subject = self._address.subject
        if state is not None and subject is not None and state.subject != subject:
            raise errors.InvalidIdError(
                f"{self._address} is not about subject {subject!r}, which this history is bound to: take another "
                "thread id, or a history without a subject"
            )


def _all_removed() -> list[BaseMessage]:
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES)]


def _named(message_id: str, transcript: list[Said]) -> BaseMessage | None:
    found = [said.message for said in transcript if said.message.id == message_id]
    return found[0] if found else None
