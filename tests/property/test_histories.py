"""Whatever is done, a history is what the reducer makes, and its transcript what all states held."""

from __future__ import annotations

import itertools
import uuid

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from tests.support import config

from perdure import Memory

ids = st.integers(0, 60)
said = st.builds(
    lambda kind, n, text: kind(text, id=f"m{n}"),
    st.sampled_from([HumanMessage, AIMessage]),
    ids,
    st.text("ab", max_size=2),
)
cleared = st.builds(
    lambda n: ToolMessage("gone", id=f"m{n}", tool_call_id="c", response_metadata={"perdure": {"kind": "cleared"}}), ids
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.one_of(said, said, cleared), min_size=1, max_size=40)),
        st.tuples(st.just("remove"), st.sets(ids, max_size=8)),
        st.tuples(st.just("clear"), st.none()),
        st.tuples(st.just("back"), st.integers(1, 4)),
        st.tuples(st.just("forget"), st.none()),
    ),
    max_size=25,
)


def done(memory, history, state, step):
    """Do a step both ways; return the state that the reducer makes of it."""
    name, given_ = step
    if name == "add":
        history.add_messages(given_)
        return add_messages(state, list(given_))
    if name == "remove":
        gone = [RemoveMessage(id=message.id) for message in state if int(message.id[1:]) in given_]
        history.add_messages(gone)
        return add_messages(state, gone)
    if name == "clear":
        history.clear()
        return add_messages(state, [RemoveMessage(id=REMOVE_ALL_MESSAGES)])
    if name == "back":  # go on from an earlier checkpoint, as a replay does
        listed = list(itertools.islice(memory.checkpointer.list(config()), given_))
        if listed:
            found = listed[-1]
            checkpoint = {**found.checkpoint, "id": str(uuid.uuid4())}
            memory.checkpointer.put(found.config, checkpoint, found.metadata, {})
            return found.checkpoint["channel_values"]["messages"]
    return state


def told(memory):
    """Return the transcript, put together from whole states."""
    line, where = [], config()
    while where and (found := memory.checkpointer.get_tuple(where)):
        line.append((found.metadata["step"], found.checkpoint["channel_values"]["messages"]))
        where = found.parent_config
    first, last = {}, {}
    for step, state in reversed(line):
        for message in state:
            first.setdefault(message.id, step)
            kept = last.get(message.id)
            if kept is None or not message.response_metadata or kept.response_metadata:
                last[message.id] = message
    present = {message.id for message in line[0][1]} if line else set()
    return [(last[name], step, name in present) for name, step in first.items()]


@settings(max_examples=60)
@given(steps)
def test_a_history_and_its_transcript_are_what_the_states_say(taken):
    with Memory.open("sqlite://") as memory:
        state = []
        for step in taken:
            if step[0] == "forget":
                memory._calls.caches.drop("default", "t1")
            state = done(memory, memory.history("t1"), state, step)
            assert memory.history("t1").messages == state
        found = memory.history("t1").transcript()
        assert [(one.message, one.step, one.present) for one in found] == told(memory)
