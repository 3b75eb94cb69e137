"""What a thread takes grows with what was said in it, not with its square."""

from __future__ import annotations

import random

import pytest
from benchmarks import agents
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from tests import inside
from tests.support import checkpoint, config, metadata, put

from perdure import Memory


def bytes_after(url, shape, turns):
    """Return the bytes of all rows of a thread, at half and all of its turns, and of its raw text."""
    with Memory.open(url) as memory:
        agent = agents.build(shape, memory.checkpointer)
        sizes = []
        for turn in range(1, turns + 1):
            state = agent.invoke(agents.human(), config("t1"))
            if turn in {turns // 2, turns}:
                sizes.append(memory.threads.get("t1").bytes)
        return sizes, agents.raw_bytes(state["messages"])


@pytest.mark.parametrize("shape", agents.SHAPES)
def test_twice_the_turns_take_about_twice_the_bytes(shape, file_url):
    (half, whole), raw = bytes_after(file_url, shape, 120)
    assert whole / half <= 2.1
    assert whole <= 3 * raw


def test_the_control_a_stock_saver_grows_with_the_square():
    saver = InMemorySaver()
    agent = agents.build("plain", saver)
    sizes = []
    for turn in range(1, 61):
        agent.invoke(agents.human(), config("t1"))
        if turn in {30, 60}:
            sizes.append(sum(len(data) for _, data in saver.blobs.values()))
    assert sizes[1] / sizes[0] > 3


def test_an_image_in_the_state_is_stored_once(memory):
    image = random.Random(1).randbytes(2_000_000)
    saver = memory.checkpointer
    parent = config()
    for step in range(20):
        values = {
            "image": image,
            "files": {"a.png": image, "n": step},
            "messages": [HumanMessage(f"{step}", id=f"{step}")],
        }
        parent = put(saver, parent, values, versions=dict.fromkeys(values, step), step=step)
    assert saver.get_tuple(parent).checkpoint["channel_values"]["files"]["a.png"] == image
    ((count, size),) = inside.rows(
        memory, "SELECT count(*), sum(length(payload)) FROM entries WHERE length(payload) > 4000"
    )
    assert count == 1
    assert size <= len(image) + 100


@pytest.mark.parametrize(
    "grow",
    [
        lambda n: list(range(n)),
        lambda n: [f"word {at}" for at in range(n)],
        lambda n: [{"role": "note", "text": f"entry number {at} " * 5} for at in range(n)],
        lambda n: {f"key {at}": f"value {at} " * 10 for at in range(n)},
        lambda n: [[at, at + 1] for at in range(n)],
        lambda n: {"deep": {"list": [("pair", at) for at in range(n)]}},
        lambda n: [HumanMessage("same words") for at in range(n)],
        lambda n: {f"https://example.com/page/{at}" for at in range(n)},
        lambda n: {"seen": frozenset((at, f"{at}") for at in range(n))},
    ],
    ids=["numbers", "words", "dicts", "files", "nested lists", "deep tuples", "equal messages", "a set", "a frozenset"],
)
def test_any_value_that_grows_step_by_step_is_stored_in_linear_space(grow, memory):
    saver = memory.checkpointer
    parent, sizes = config(), []
    for step in range(1, 401):
        parent = put(saver, parent, {"value": grow(step)}, versions={"value": step}, step=step)
        if step in {200, 400}:
            sizes.append(memory.threads.get("t1").bytes)
    assert saver.get_tuple(parent).checkpoint["channel_values"] == {"value": grow(400)}
    assert sizes[1] / sizes[0] <= 2.6, "the square would be 4; larger numbers and places take a byte more"


def test_a_write_that_came_before_its_thread_points_to_what_the_thread_holds(memory, saver):
    image = random.Random(1).randbytes(500_000)
    made = checkpoint({"image": image})
    saver.put_writes(config(checkpoint=made["id"]), [("image", image), ("n", 1)], "task")
    where = saver.put(config(), made, metadata(), {"image": 1})
    assert saver.get_tuple(where).pending_writes == [("task", "image", image), ("task", "n", 1)]
    assert memory.threads.get("t1").bytes < 1.1 * len(image)
    memory.checkpointer._calls.caches.drop("default", "t1")
    assert saver.get_tuple(where).pending_writes == [("task", "image", image), ("task", "n", 1)]
