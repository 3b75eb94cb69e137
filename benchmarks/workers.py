"""Each contestant in a process of its own, asked in turn: nobody warms, fills or blocks another's process."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["Worker", "interleave", "started"]

Play = Callable[..., Generator[Any, Any, None]]
"""A generator: it prepares up to its first `yield`, then measures once for each value it is sent."""

_GOODBYE = 30


class Worker:
    """A process that plays a generator. It prepares at once; `ask` and `answer` are then used in turn."""

    def __init__(self, play: Play, *given: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_play, args=(theirs, play, given), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, question: Any = None) -> None:
        """Send a question, without waiting for its answer."""
        self._pipe.send((True, question))

    def answer(self) -> Any:
        """Return what the generator yields next."""
        good, value = self._pipe.recv()
        if not good:
            raise RuntimeError(f"a contestant failed:\n{value}")
        return value

    def measure(self, question: Any = None) -> Any:
        """Ask and wait for the answer."""
        self.ask(question)
        return self.answer()

    def close(self) -> None:
        """Let the generator end and its process too."""
        with suppress(OSError):  # it has ended by itself
            self._pipe.send((False, None))
        self._process.join(_GOODBYE)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()


def _play(pipe: Connection, play: Play, given: tuple[Any, ...]) -> None:
    try:
        running = play(*given)
        pipe.send((True, next(running)))
        while True:
            go_on, question = pipe.recv()
            if not go_on:
                break
            pipe.send((True, running.send(question)))
        running.close()
    except BaseException:  # noqa: BLE001 - the edge of the process: whatever failed is told
        pipe.send((False, traceback.format_exc()))


@contextmanager
def started(plays: dict[str, tuple[Any, ...]], *, at_once: int = 2) -> Iterator[dict[str, Worker]]:
    """Start a worker for each name, at most so many preparing at a time; all are ready when the block begins."""
    workers: dict[str, Worker] = {}
    waiting: list[Worker] = []
    try:
        for name, (play, *given) in plays.items():
            if len(waiting) == at_once:
                waiting.pop(0).answer()
            workers[name] = Worker(play, *given)
            waiting.append(workers[name])
        for worker in waiting:
            worker.answer()
        yield workers
    finally:
        for worker in workers.values():
            worker.close()


def interleave(workers: dict[str, Worker], questions: Iterable[Any]) -> dict[str, list[Any]]:
    """Ask every worker each question, one worker at a time, a different one first in each round."""
    names = list(workers)
    answers: dict[str, list[Any]] = {name: [] for name in names}
    for turn, question in enumerate(questions):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            answers[name].append(workers[name].measure(question))
    return answers
