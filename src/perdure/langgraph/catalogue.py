"""The catalogue of threads: `memory.threads`. Every method `x` has an async twin `ax`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from perdure import errors
from perdure.core import forks, ids, threads
from perdure.core.unit import Unit
from perdure.langgraph.calls import Calls
from perdure.model import Page, Thread, ThreadStats

__all__ = ["Catalogue"]

LONGEST_TITLE = 1000
Asked = tuple[str, Callable[..., Any]]


class Catalogue:
    """Lists, names, tags, forks, counts and deletes the threads of a tenant; of one subject in a scoped view."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def list(
        self,
        *,
        subject: str | None = None,
        status: str | None = None,
        tag: str | None = None,
        title: str | None = None,
        limit: int = threads.PAGE,
        cursor: str | None = None,
    ) -> Page:
        """Return threads that match every given filter, newest first, at most `limit` (up to 1,000).

        `title` finds text anywhere in titles, in capital or small ASCII letters and other letters as
        they are written; `cursor` is the one of the page before.
        """
        found: Page = self._calls.read(*self._list(subject, status, tag, title, limit, cursor))
        return found

    async def alist(
        self,
        *,
        subject: str | None = None,
        status: str | None = None,
        tag: str | None = None,
        title: str | None = None,
        limit: int = threads.PAGE,
        cursor: str | None = None,
    ) -> Page:
        """Do what `list` does."""
        found: Page = await self._calls.aread(*self._list(subject, status, tag, title, limit, cursor))
        return found

    def get(self, thread_id: str) -> Thread | None:
        """Return a thread, None if there is none of that id."""
        return self._own(self._calls.read(*self._get(thread_id)))

    async def aget(self, thread_id: str) -> Thread | None:
        """Do what `get` does."""
        return self._own(await self._calls.aread(*self._get(thread_id)))

    def rename(self, thread_id: str, title: str | None) -> None:
        """Give a thread a title; None takes it away. Raises NotFoundError."""
        self._calls.write(*self._rename(thread_id, title))

    async def arename(self, thread_id: str, title: str | None) -> None:
        """Do what `rename` does."""
        await self._calls.awrite(*self._rename(thread_id, title))

    def tag(self, thread_id: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Add and remove tags. Raises NotFoundError."""
        self._calls.write(*self._tag(thread_id, add, remove))

    async def atag(self, thread_id: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Do what `tag` does."""
        await self._calls.awrite(*self._tag(thread_id, add, remove))

    def delete(self, thread_id: str) -> bool:
        """Delete a thread with everything in it; whether there was one."""
        return bool(self._calls.write(*self._delete(thread_id)))

    async def adelete(self, thread_id: str) -> bool:
        """Do what `delete` does."""
        return bool(await self._calls.awrite(*self._delete(thread_id)))

    def fork(self, thread_id: str, new_thread_id: str, *, checkpoint_id: str | None = None) -> Thread:
        """Copy a thread up to a checkpoint (its latest, if none is named) to a new thread.

        Raises NotFoundError, and ConflictError if the new thread exists.
        """
        found: Thread = self._calls.write(*self._fork(thread_id, new_thread_id, checkpoint_id))
        return found

    async def afork(self, thread_id: str, new_thread_id: str, *, checkpoint_id: str | None = None) -> Thread:
        """Do what `fork` does."""
        found: Thread = await self._calls.awrite(*self._fork(thread_id, new_thread_id, checkpoint_id))
        return found

    def stats(self, thread_id: str) -> ThreadStats:
        """Return counts and stored bytes, for each channel too. Raises NotFoundError."""
        found: ThreadStats = self._calls.read(*self._stats(thread_id))
        return found

    async def astats(self, thread_id: str) -> ThreadStats:
        """Do what `stats` does."""
        found: ThreadStats = await self._calls.aread(*self._stats(thread_id))
        return found

    # The work of each, written once

    def _owned(self, thread: str, job: Callable[..., Any], *, otherwise: object = None) -> Asked:
        """Let a view of one subject reach that subject's threads only; any other thread is not there for it."""
        subject = self._calls.scope.subject

        async def checked(unit: Unit) -> Any:
            state = await threads.find(unit, thread)
            if state is not None and state.subject == subject:
                return await job(unit)
            if otherwise is None:
                raise threads.missing(thread)
            return otherwise

        return self._calls.tenant(), job if subject is None else checked

    def _own(self, found: Thread | None) -> Thread | None:
        subject = self._calls.scope.subject
        return found if found is None or subject in {None, found.subject} else None

    def _list(
        self,
        subject: str | None,
        status: str | None,
        tag: str | None,
        title: str | None,
        limit: int,
        cursor: str | None,
    ) -> Asked:
        threads.check_limit(limit)
        if status is not None and status not in threads.STATUSES:
            raise errors.InvalidInputError(f"status must be one of {', '.join(threads.STATUSES)}, not {status!r}")
        title = None if title is None else ids.check(title, "title", longest=LONGEST_TITLE)
        tag = None if tag is None else ids.check(tag, "tag")
        bound = self._calls.scope.subject
        if bound is not None and subject not in {None, bound}:
            raise errors.InvalidIdError(f"this view is bound to subject {bound!r}; it can't list those of {subject!r}")
        subject = bound if subject is None else ids.check(subject, "subject")
        return self._calls.tenant(), lambda unit: threads.page(
            unit, subject=subject, status=status, tag=tag, title=title, limit=limit, cursor=cursor
        )

    def _get(self, thread_id: str) -> Asked:
        thread = ids.check(thread_id, "thread_id")
        return self._calls.tenant(), lambda unit: threads.show(unit, thread)

    def _rename(self, thread_id: str, title: str | None) -> Asked:
        thread = ids.check(thread_id, "thread_id")
        text = None if title is None else ids.check(title, "title", longest=LONGEST_TITLE)
        return self._owned(thread, lambda unit: threads.rename(unit, thread, text))

    def _tag(self, thread_id: str, add: Iterable[str], remove: Iterable[str]) -> Asked:
        thread = ids.check(thread_id, "thread_id")
        if isinstance(add, str) or isinstance(remove, str):
            raise errors.InvalidInputError("add and remove are lists of tags: tag(thread_id, add=['billing'])")
        added = [ids.check(name, "tag") for name in add]
        removed = [ids.check(name, "tag") for name in remove]
        return self._owned(thread, lambda unit: threads.tag(unit, thread, added, removed))

    def _delete(self, thread_id: str) -> Asked:
        thread = ids.check(thread_id, "thread_id")
        return self._owned(thread, lambda unit: threads.delete(unit, thread), otherwise=False)

    def _fork(self, thread_id: str, new_thread_id: str, checkpoint_id: str | None) -> Asked:
        source, target = ids.check(thread_id, "thread_id"), ids.check(new_thread_id, "new_thread_id")
        checkpoint = None if checkpoint_id is None else ids.check(checkpoint_id, "checkpoint_id")
        return self._owned(source, lambda unit: forks.fork(unit, self._calls.codec, source, target, checkpoint))

    def _stats(self, thread_id: str) -> Asked:
        thread = ids.check(thread_id, "thread_id")
        return self._owned(thread, lambda unit: threads.stats(unit, thread))
