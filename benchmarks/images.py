"""Bytes on disk of a 2 MB image that a graph keeps in its state over 50 steps."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from benchmarks import contestants
from benchmarks.rows import Row, Target
from benchmarks.workers import started

__all__ = ["measure", "play"]

NAME = "images"
TITLE = "A 2 MB image kept in the state over 50 steps"
IMAGE_BYTES = 2_000_000
STEPS = 50


class State(TypedDict):
    """An image, and how many steps it has been there."""

    image: bytes
    step: int


def _build(saver: Any) -> Any:
    graph = StateGraph(State)
    graph.add_node("count", lambda state: {"step": state["step"] + 1})
    graph.add_edge(START, "count")
    graph.add_conditional_edges("count", lambda state: END if state["step"] == STEPS else "count")
    return graph.compile(checkpointer=saver)


def play(name: str, folder: Path) -> Generator[int | None, None, None]:
    """Run the steps and yield the size of the file."""
    yield None
    path = folder / f"image-{name}.db"
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 2 * STEPS}
    image = random.Random(1).randbytes(IMAGE_BYTES)
    with contestants.open_saver(name, path) as saver:
        graph = _build(saver)
        graph.invoke({"image": image, "step": 0}, config)
        assert graph.get_state(config).values == {"image": image, "step": STEPS}
    yield path.stat().st_size


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:  # noqa: ARG001 - one interface
    """Return one row: the bytes of each as times those of the image."""
    tell("two graphs")
    with started({name: (play, name, folder) for name in ("perdure", "sqlite")}) as workers:
        sizes = {name: [worker.measure()] for name, worker in workers.items()}
    rounds = {"raw": [IMAGE_BYTES], **sizes}
    target = Target("<=", 1.1)
    return [Row(f"2 MB, {STEPS} steps", "bytes", rounds, base="raw", base_name="the image", target=target)]
