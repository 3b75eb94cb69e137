"""Milliseconds that each part of `perdure.middleware` adds to a turn of a long conversation."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from langgraph.store.base import PutOp

from benchmarks import agents, notes, talks
from benchmarks.embedders import FakeEmbedder
from benchmarks.parts import ITEMS, NONE, PROFILE, VARIANTS, Variant
from benchmarks.rows import Row
from benchmarks.workers import started
from perdure import Memory
from perdure.middleware import approximate

__all__ = ["measure", "play"]

NAME = "context"
TITLE = "What middleware adds to a turn at 2,000 messages"
_SYSTEM: Final = SystemMessage("You help Ana with her notes. Be brief, and say where you know something from.")
_ASKED: Final = notes.queries(64)

Values = dict[str, dict[str, list[float]]]


class Talk:
    """An agent with a variant's middleware, and the state that each of its turns begins with."""

    def __init__(self, variant: Variant, messages: list[BaseMessage], saver: Any, store: Any) -> None:
        self._saver, self._store = saver, store
        self._middleware = [*variant.made()]
        self._threads = itertools.count()
        self._case = variant.case
        self.model = talks.WatchedModel()
        self.agent = self._agent(self._middleware)
        self._state: dict[str, Any] = {"messages": variant.given(messages)}
        if variant.before is not None:
            self._state = self._after(self._agent(variant.before()))

    def _agent(self, middleware: Any) -> Any:
        return create_agent(
            self.model,
            [agents.look_up],
            system_prompt=_SYSTEM,
            middleware=middleware,
            checkpointer=self._saver,
            store=self._store,
        )

    def _after(self, agent: Any) -> dict[str, Any]:
        """Return the state after one turn of another agent."""
        thread = self._loaded(agent)
        agent.invoke(_said(0), thread)
        values: dict[str, Any] = agent.get_state(thread).values
        self._forget(thread)
        return values

    def _loaded(self, agent: Any) -> dict[str, Any]:
        thread = {"configurable": {"thread_id": f"{self._case} {next(self._threads)}"}}
        agent.update_state(thread, self._state, as_node="model")
        return thread

    def _forget(self, thread: dict[str, Any]) -> None:
        self._saver.delete_thread(thread["configurable"]["thread_id"])

    def turn(self, number: int) -> float:
        """Return the milliseconds of a turn; each begins with the same state, in a thread of its own."""
        thread = self._loaded(self.agent)
        said = _said(number)
        gc.collect()
        spent = _spent(lambda: self.agent.invoke(said, thread))
        self._forget(thread)
        return spent

    def request(self, number: int) -> float:
        """Return the milliseconds that the parts take for a request, without an agent around them."""
        messages = [*self._state["messages"], *_said(number)["messages"]]
        runtime: Any = Runtime(store=self._store)
        state: Any = {**self._state, "messages": messages}
        request: ModelRequest[Any] = ModelRequest(
            model=self.model,
            messages=messages,
            system_message=_SYSTEM,
            tools=[agents.look_up],
            state=state,
            runtime=runtime,
        )
        gc.collect()
        # Inside of a runnable, where parts find the run's config.
        config: Any = {"configurable": {"thread_id": self._case}}
        return RunnableLambda(lambda _: _spent(lambda: self._through(request))).invoke(None, config)

    def _through(self, request: ModelRequest[Any]) -> Any:
        handler = _answered
        for part in reversed(self._middleware):
            if type(part).before_model is not AgentMiddleware.before_model:
                part.before_model(request.state, request.runtime)
            else:
                handler = _around(part, handler)
        return handler(request)

    def shown(self) -> str:
        """Return what the model was shown the last time."""
        messages = self.model.shown
        return f"{len(messages):,} messages, {approximate(messages):,} tokens"


def _said(number: int) -> dict[str, Any]:
    return {"messages": [HumanMessage(_ASKED[number % len(_ASKED)], id=f"question-{number}")]}


def _answered(request: ModelRequest[Any]) -> Any:  # noqa: ARG001 - a handler takes a request
    return ModelResponse(result=[AIMessage("Yes.")])


def _around(part: Any, handler: Callable[[ModelRequest[Any]], Any]) -> Callable[[ModelRequest[Any]], Any]:
    def called(request: ModelRequest[Any]) -> Any:
        found = part.wrap_model_call(request, handler)
        return getattr(found, "model_response", found)

    return called


def _spent(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def play(kind: str, folder: Path, turns: int, items: int) -> Generator[Any, Any, None]:
    """Make all agents; then yield the milliseconds of what each question names, or what the model was shown."""
    messages = talks.talk(turns)
    with ExitStack() as stack:
        index: Any = {"embed": FakeEmbedder(), "dims": FakeEmbedder.dims, "fields": ["text"]}
        words = stack.enter_context(Memory.open(f"sqlite:///{folder / f'{kind}-words.db'}"))
        vectors = stack.enter_context(Memory.open(f"sqlite:///{folder / f'{kind}-vectors.db'}", index=index))
        found = {"words": words.store, "vectors": vectors.store}
        for store in found.values():
            _fill(store, items)
        saver: Any = InMemorySaver() if kind == "added" else words.checkpointer
        agents_of = {one.case: Talk(one, messages, saver, found[one.store]) for one in VARIANTS}
        question = yield None
        while True:
            what, case, *number = question
            question = yield getattr(agents_of[case], what)(*number)


def _fill(store: Any, items: int) -> None:
    place = notes.place(items)
    store.batch([PutOp(ITEMS, key, value) for key, value in notes.items(place)])
    store.put(PROFILE, "profile", {"text": "Answer in one sentence, in the language of the question."})


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:
    """Return a row for each variant."""
    turns, items, rounds = (57, 100, 2) if quick else (571, 1_000, 20)
    spent: Values = {one.case: {"added": [], "added-file": [], "request": []} for one in VARIANTS}
    tell(f"talking for {turns:,} turns")
    with started({kind: (play, kind, folder, turns, items) for kind in ("added", "added-file")}) as workers:
        for number in range(-1, rounds):
            tell(f"round {number + 1} of {rounds}")
            for case, kind in _order(number):
                what = "request" if kind == "request" else "turn"
                value = workers.get(kind, workers["added"]).measure((what, case, number + 1))
                if number >= 0:  # the first only warms up
                    spent[case][kind].append(value)
        shown = {one.case: workers["added"].measure(("shown", one.case)) for one in VARIANTS}
    return [*_rows(spent, shown)]


def _order(number: int) -> Iterator[tuple[str, str]]:
    """Yield what is measured in a round, another case first each time."""
    first = number % len(VARIANTS)
    for kind in ("added", "added-file", "request"):
        for variant in VARIANTS[first:] + VARIANTS[:first]:
            yield variant.case, kind


def _rows(spent: Values, shown: dict[str, str]) -> Iterator[Row]:
    """Yield rows: whole turns without middleware, and to all others what they take more than the median of those."""
    base = {kind: median(values) for kind, values in spent[NONE].items()}
    for case, found in spent.items():
        notes_of = {"a turn, as times": f"{median(found['added']) / base['added']:.2f} ×", "shown": shown[case]}
        added = {kind: [value - base[kind] * (case != NONE) for value in values] for kind, values in found.items()}
        yield Row(case, "ms", added, notes=notes_of)
