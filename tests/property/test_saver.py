"""Any sequence of steps reads back as a plain dictionary of copies would."""

from __future__ import annotations

import copy
import random
import uuid

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from tests.support import checkpoint, config, metadata

from perdure import Memory

NAMESPACES = ("", "child:1", "child:1|grand:2")
PHASES = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
small = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(max_size=12),
    st.binary(max_size=12),
)
big = st.builds(lambda word, count: f"{word} " * count, st.sampled_from(["alpha", "beta", "猫"]), st.integers(30, 90))
keys = st.text(st.characters(codec="utf-8"), max_size=6)
values = st.recursive(
    small | big,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(keys, inner, max_size=5)
        | st.tuples(inner, inner)
        | st.builds(lambda item, count: [item] * count, inner, st.integers(30, 70))
        | st.builds(lambda item, count: {f"key {n}": item for n in range(count)}, inner, st.integers(30, 45))
    ),
    max_leaves=6,
)


def message(kind: int, text: str, name: str | None):
    if kind == 0:
        return HumanMessage(text, id=name)
    if kind == 1:
        return AIMessage(text, id=name, tool_calls=[{"name": "t", "args": {"a": text}, "id": f"c{name}"}])
    return ToolMessage(text, id=name, tool_call_id=f"c{name}", artifact={"raw": [text, 1]})


messages = st.builds(message, st.integers(0, 2), big | st.text(max_size=20), st.uuids().map(str) | st.none())


class Steps(RuleBasedStateMachine):
    """Steps on one thread, in two memories on one database that share nothing they remember."""

    made = Bundle("made")

    def __init__(self, memory=None):
        super().__init__()
        self.memory = memory or Memory.open("sqlite://")
        # The same engine, with a cache of its own: another process as far as what is remembered goes.
        self.other = Memory(_without_cache(self.memory._calls))
        self.model = {}
        self.writes = {}
        self.parents = {}
        self.live = {}
        self.order = []
        self.count = 0

    def saver(self, other):
        return (self.other if other else self.memory).checkpointer

    def store(self, where, changed, other):
        parent_id = where["configurable"].get("checkpoint_id")
        ns = where["configurable"]["checkpoint_ns"]
        before = self.live.get((ns, parent_id), {})
        held = {**before, **changed}
        self.count += 1
        versions = {**dict.fromkeys(held, 0), **self.versions(ns, parent_id), **dict.fromkeys(changed, self.count)}
        made = checkpoint(held, versions)
        self.saver(other).put(where, made, metadata(self.count), dict.fromkeys(changed, self.count))
        key = (ns, made["id"])
        # A channel without a new version is the parent's, whatever happened to its objects since.
        self.model[key] = {**self.model.get((ns, parent_id), {}), **copy.deepcopy(changed)}
        self.live[key] = held
        self.parents[key] = parent_id
        self.writes[key] = []
        self.version_of = {**getattr(self, "version_of", {}), key: versions}
        self.order.append(key)
        return key

    def versions(self, ns, checkpoint_id):
        return getattr(self, "version_of", {}).get((ns, checkpoint_id), {})

    @rule(
        target=made,
        ns=st.sampled_from(NAMESPACES),
        value=values,
        said=st.lists(messages, max_size=4),
        other=st.booleans(),
    )
    def begin(self, ns, value, said, other):
        self.saver(other).get_tuple(config(ns=ns))
        return self.store(config(ns=ns), {"value": value, "messages": said}, other)

    @rule(target=made, key=made, said=st.lists(messages, min_size=1, max_size=3), other=st.booleans())
    def say(self, key, said, other):
        return self.follow(key, {"messages": [*self.live.get(key, {}).get("messages", []), *said]}, other)

    @rule(target=made, key=made, seed=st.integers(0, 10**6), other=st.booleans())
    def rearrange(self, key, seed, other):
        chance = random.Random(seed)
        kept = [item for item in self.live.get(key, {}).get("messages", []) if chance.random() < 0.7]
        if chance.random() < 0.3:
            chance.shuffle(kept)
        return self.follow(key, {"messages": kept}, other)

    @rule(target=made, key=made, said=st.lists(messages, min_size=40, max_size=60), other=st.booleans())
    def say_much(self, key, said, other):
        return self.follow(key, {"messages": [*self.live.get(key, {}).get("messages", []), *said]}, other)

    @rule(target=made, key=made, value=values, other=st.booleans())
    def change(self, key, value, other):
        return self.follow(key, {"value": value}, other)

    @rule(target=made, key=made, text=big, other=st.booleans())
    def change_in_place(self, key, text, other):
        said = self.live.get(key, {}).get("messages", [])
        if said:
            changed = said[-1]
            changed.content = text
            changed.id = changed.id or "named later"
        return self.follow(key, {"messages": list(said)}, other)

    def follow(self, key, changed, other):
        if key not in self.model:
            return multiple()
        ns, name = key
        return self.store(config(checkpoint=name, ns=ns), changed, other)

    @rule(key=made, value=values, said=messages, other=st.booleans())
    def write(self, key, value, said, other):
        if key not in self.model:
            return
        ns, name = key
        task = f"task {len(self.writes[key])}"
        self.saver(other).put_writes(config(checkpoint=name, ns=ns), [("value", value), ("messages", [said])], task)
        self.writes[key] += [(task, "value", copy.deepcopy(value)), (task, "messages", [copy.deepcopy(said)])]

    @rule(other=st.booleans())
    def prune(self, other):
        self.saver(other).prune(["t1"])
        latest = {key[0]: key for key in self.order}
        kept = set(latest.values())
        for key in [key for key in self.model if key not in kept]:
            del self.model[key], self.writes[key]
        self.order = [key for key in self.order if key in kept]
        self.parents = dict.fromkeys(self.model)

    @rule(key=consumes(made))
    def change_what_was_read(self, key):
        if key not in self.model:
            return
        found = self.memory.checkpointer.get_tuple(config(checkpoint=key[1], ns=key[0]))
        for item in found.checkpoint["channel_values"].get("messages", []):
            item.content = "changed by a reader"
        found.checkpoint["channel_values"].clear()

    @invariant()
    def every_checkpoint_reads_back(self):
        for saver in (self.memory.checkpointer, self.other.checkpointer):
            for key in random.sample(sorted(self.model), min(3, len(self.model))):
                found = saver.get_tuple(config(checkpoint=key[1], ns=key[0]))
                assert found.checkpoint["channel_values"] == self.model[key]
                assert [write[1:] for write in found.pending_writes] == [write[1:] for write in self.sorted_writes(key)]
                parent = found.parent_config and found.parent_config["configurable"]["checkpoint_id"]
                assert parent == self.parents[key]

    def sorted_writes(self, key):
        return sorted(self.writes[key], key=lambda write: write[0])

    def teardown(self):
        for ns in NAMESPACES:
            listed = [found.checkpoint["id"] for found in self.memory.checkpointer.list(config(ns=ns))]
            assert listed == [key[1] for key in reversed(self.order) if key[0] == ns]
        self.memory.close()


def _without_cache(calls):
    import dataclasses  # noqa: PLC0415

    return dataclasses.replace(calls, caches=type(calls.caches)())


Steps.TestCase.settings = hypothesis.settings(max_examples=40, stateful_step_count=25, deadline=None, phases=PHASES)
TestSteps = Steps.TestCase


def test_any_sequence_of_steps_reads_back_on_postgres(application_url):
    with Memory.open(application_url) as memory:
        settings = hypothesis.settings(Steps.TestCase.settings, max_examples=15)
        run_state_machine_as_test(lambda: Steps(memory.scope(tenant=str(uuid.uuid4()))), settings=settings)


def test_the_control_a_saver_that_forgets_a_change_in_place_is_caught(monkeypatch):
    from perdure.core import entries  # noqa: PLC0415

    monkeypatch.setattr(entries, "_unchanged", lambda *_: True)
    monkeypatch.setattr("perdure.core.values.same_fields", lambda *_: True)
    with Memory.open("sqlite://") as memory:
        said = [HumanMessage(f"{n}", id=f"{n}") for n in range(3)]
        first = memory.checkpointer.put(config(), checkpoint({"messages": said}), metadata(), {"messages": 1})
        said[0].content = "changed"
        later = checkpoint({"messages": said}, {"messages": 2})
        where = memory.checkpointer.put(first, later, metadata(1), {"messages": 2})
        fresh = type(memory)(_without_cache(memory._calls))
        found = fresh.checkpointer.get_tuple(where).checkpoint["channel_values"]["messages"]
        with pytest.raises(AssertionError):
            assert found == said
