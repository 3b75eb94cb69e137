"""Chains of versions: what is read through migrations, and stored after it, is what they make of it by hand."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from tests.shapes import deployed, stored
from tests.support import checkpoint, config, metadata, put

from perdure import Memory

names = st.sampled_from(["a", "b", "c", "d"])
values = st.recursive(
    st.none() | st.integers(-5, 5) | st.text(max_size=3) | st.text(min_size=200, max_size=210),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)
messages = st.lists(st.text(max_size=5), max_size=3).map(
    lambda texts: [HumanMessage(text, id=str(at)) for at, text in enumerate(texts)]
)
states = st.dictionaries(names, values | messages, min_size=1)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), names, values),
        st.tuples(st.just("remove"), names),
        st.tuples(st.just("rename"), names, names),
        st.tuples(st.just("wrap"), names),
        st.tuples(st.just("grow"), names),
    ),
    max_size=3,
)


def migration(changes: list[Any]) -> Any:
    """Return a migration that changes what it is given, in place where that can be."""

    def apply(state: dict[str, Any]) -> dict[str, Any]:
        for kind, name, *more in changes:
            if kind == "add":
                state.setdefault(name, more[0])
            elif kind == "remove":
                state.pop(name, None)
            elif kind == "rename" and name in state:
                state[more[0]] = state.pop(name)
            elif kind == "wrap" and name in state:
                state[name] = {"was": state[name]}
            elif kind == "grow" and type(state.get(name)) is list:
                state[name].append("more")
        return state

    return apply


def copied(memory: Memory, state: dict[str, Any]) -> dict[str, Any]:
    """Return a copy that shares nothing, as a read of the database does."""
    codec = memory._calls.codec
    return {name: codec.unpack(codec.pack(value)) for name, value in state.items()}


@given(state=states, chain=st.lists(steps, min_size=1, max_size=4), changed=st.sets(names), opened=st.integers(1, 5))
def test_reading_and_going_on_is_what_the_migrations_make_by_hand(state, chain, changed, opened):
    version = len(chain) + 1
    written = min(opened, version)
    migrations = {at: migration(changes) for at, changes in enumerate(chain, 1)}
    with Memory.open("sqlite://") as memory:
        expected = copied(memory, state)
        for at in range(written, version):
            expected = migrations[at](expected)
        old = deployed(memory, written, {at: migrations[at] for at in range(1, written)})
        first = put(old.checkpointer, config("t1"), state)
        new = deployed(memory, version, migrations)
        for given_config in (config("t1"), first, config("t1", __pregel_x=1)):
            assert new.checkpointer.get_tuple(given_config).checkpoint["channel_values"] == expected
        listed = list(new.checkpointer.list(config("t1")))
        assert [found.checkpoint["channel_values"] for found in listed] == [expected]
        assert stored(memory) == (written, state)

        head = new.checkpointer.get_tuple(config("t1", __pregel_x=1)).checkpoint
        going, versions = head["channel_values"], dict(head["channel_versions"])
        fresh = max(versions.values(), default=0) + 1
        written_now = dict.fromkeys(sorted(changed & going.keys()), fresh)
        going |= {name: [name] for name in written_now}
        made = checkpoint(going, versions | written_now)
        new.checkpointer.put(first, made, metadata(1), written_now)
        after = expected | {name: [name] for name in written_now}
        assert stored(memory) == (version, after)
        assert deployed(memory, version).checkpointer.get_tuple(config("t1")).checkpoint["channel_values"] == after
