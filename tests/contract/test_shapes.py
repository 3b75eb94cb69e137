"""A graph's state changes its shape from one deploy to the next, and no thread is lost on the way."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from benchmarks.agents import InstantModel, look_up
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from tests.shapes import deployed, stored
from tests.support import checkpoint, config, metadata, put, task, values_of

from perdure import Memory, errors
from perdure.core import shapes


@dataclass
class Person:
    """A customer, with one name at first; the parts came later."""

    name: str = ""
    given: str = ""
    family: str = ""


class Customer(AgentState):
    person: NotRequired[Person]


class Basket(TypedDict):
    items: Annotated[list[str], operator.add]


class Cart(TypedDict):
    lines: Annotated[list[str], operator.add]
    currency: str


def split(state):
    old = state["person"]
    given, _, family = old.name.partition(" ")
    return {**state, "person": Person(given=given, family=family)}


def rename(state):
    lines = state.pop("items", [])
    return {**state, "lines": lines, "currency": "EUR"}


def agent(memory):
    return create_agent(InstantModel(), [look_up], state_schema=Customer, checkpointer=memory.checkpointer)


def shop(memory, state, name, *, nodes=1):
    builder = StateGraph(state)
    for at in range(nodes):
        builder.add_node(f"n{at}", lambda _, at=at: {name: [f"n{at}"]})
        builder.add_edge(f"n{at - 1}" if at else START, f"n{at}")
    return builder.compile(checkpointer=memory.checkpointer)


def test_a_field_is_split_while_the_messages_stay(memory, styled):
    """The usual reason: a class in the state got other fields."""
    before = styled(agent(memory))
    for _ in range(2):
        said = before.invoke({"messages": [("user", "go")], "person": Person("Ada Lovelace")}, config("t1"))
    newer = deployed(memory, 2, {1: split})
    after = styled(agent(newer))
    state = after.get_state(config("t1"))
    assert state.values == {"messages": said["messages"], "person": Person(given="Ada", family="Lovelace")}
    assert stored(memory)[0] == 1  # a read writes nothing
    went = after.invoke({"messages": [("user", "again")]}, config("t1"))
    assert went["messages"][: len(said["messages"])] == said["messages"]
    version, values = stored(memory)
    assert (version, values["person"]) == (2, Person(given="Ada", family="Lovelace"))
    assert values["messages"] == went["messages"]
    assert styled(agent(deployed(newer, 2))).get_state(config("t1")).values == went  # its head needs no migration now


def test_a_thread_that_migrates_keeps_its_messages_once(memory):
    before = agent(memory)
    for _ in range(4):
        before.invoke({"messages": [("user", "go")], "person": Person("Ada Lovelace")}, config("t1"))
    count = len(before.get_state(config("t1")).values["messages"])
    after = agent(deployed(memory, 2, {1: split}))
    after.invoke({"messages": [("user", "again")]}, config("t1"))
    of_messages = next(c for c in memory.threads.stats("t1").channels if c.channel == "messages")
    assert of_messages.entries < 2 * count  # all that were there are found again, not stored anew


def test_a_channel_is_renamed_and_the_run_goes_on_with_it(memory, styled):
    before = styled(shop(memory, Basket, "items"))
    for n in range(3):
        before.invoke({"items": [f"i{n}"]}, config("t1"))
    after = styled(shop(deployed(memory, 2, {1: rename}), Cart, "lines"))
    lines = ["i0", "n0", "i1", "n0", "i2", "n0"]
    assert after.get_state(config("t1")).values == {"lines": lines, "currency": "EUR"}
    assert after.invoke({"lines": ["i3"]}, config("t1"))["lines"] == [*lines, "i3", "n0"]
    version, values = stored(memory)
    assert version == 2
    assert {name: value for name, value in values.items() if not shapes.is_internal(name)} == {
        "lines": [*lines, "i3", "n0"],
        "currency": "EUR",
    }


def test_a_channel_that_no_later_step_changes_is_stored_too(memory):
    """`currency` came with the migration, and nothing ever writes it."""
    shop(memory, Basket, "items").invoke({"items": ["i"]}, config("t1"))
    after = shop(deployed(memory, 2, {1: rename}), Cart, "lines")
    after.invoke({"lines": []}, config("t1"))
    for _ in range(3):
        last = shop(deployed(memory, 2), Cart, "lines")
        assert last.invoke({"lines": []}, config("t1"))["currency"] == "EUR"
    assert stored(memory)[1]["currency"] == "EUR"


@pytest.mark.parametrize("protected", [True, False])
def test_what_a_migration_changed_is_stored_though_no_step_writes_it(memory, monkeypatch, protected):
    """The control: with the versions that were stored, the next step would take the old value over."""
    if not protected:
        monkeypatch.setattr(shapes, "_fresh", lambda old, found, _: {name: old[name] for name in found})
    shop(memory, Cart, "lines").invoke({"lines": [], "currency": "eur"}, config("t1"))
    newer = deployed(memory, 2, {1: lambda state: {**state, "currency": state["currency"].upper()}})
    assert shop(newer, Cart, "lines").invoke({"lines": []}, config("t1"))["currency"] == "EUR"
    assert stored(memory)[1]["currency"] == ("EUR" if protected else "eur")


def test_every_earlier_state_is_seen_in_the_new_shape(memory, styled):
    before = styled(shop(memory, Basket, "items", nodes=3))
    before.invoke({"items": ["i"]}, config("t1"))
    after = styled(shop(deployed(memory, 2, {1: rename}), Cart, "lines", nodes=3))
    history = after.get_state_history(config("t1"))
    assert [found.values.get("lines") for found in history] == [
        ["i", "n0", "n1", "n2"],
        ["i", "n0", "n1"],
        ["i", "n0"],
        ["i"],
        [],
    ]
    assert all("items" not in found.values for found in history)


def test_a_run_from_an_earlier_state_goes_on_in_the_new_shape(memory, styled):
    styled(shop(memory, Basket, "items", nodes=3)).invoke({"items": ["i"]}, config("t1"))
    after = styled(shop(deployed(memory, 2, {1: rename}), Cart, "lines", nodes=3))
    early = after.get_state_history(config("t1"))[2]
    assert early.next == ("n1",)
    assert after.invoke(None, early.config)["lines"] == ["i", "n0", "n1", "n2"]
    changed = after.update_state(early.config, {"lines": ["by hand"]})
    assert after.get_state(changed).values == {"lines": ["i", "n0", "by hand"], "currency": "EUR"}
    assert stored(memory)[0] == 2
    assert len(after.get_state_history(config("t1"))) > 5


def test_a_copied_state_is_stored_in_the_new_shape(memory, styled):
    styled(shop(memory, Basket, "items", nodes=2)).invoke({"items": ["i"]}, config("t1"))
    after = styled(shop(deployed(memory, 2, {1: rename}), Cart, "lines", nodes=2))
    copied = after.update_state(config("t1"), None, as_node="__copy__")
    assert after.get_state(copied).values == {"lines": ["i", "n0", "n1"], "currency": "EUR"}
    assert stored(memory)[0] == 2


def asking(memory, state, name):
    builder = StateGraph(state)
    builder.add_node("ask", lambda _: {name: [interrupt("which?")]})
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=memory.checkpointer)


def test_an_interrupted_run_is_answered_after_the_deploy(memory, styled):
    styled(asking(memory, Basket, "items")).invoke({"items": ["i"]}, config("t1"))
    after = styled(asking(deployed(memory, 2, {1: rename}), Cart, "lines"))
    assert after.get_state(config("t1")).next == ("ask",)
    assert after.invoke(Command(resume="this"), config("t1"))["lines"] == ["i", "this"]
    version, values = stored(memory)
    assert (version, values["lines"], values["currency"]) == (2, ["i", "this"], "EUR")


def test_a_run_stopped_before_a_node_runs_that_node_once(memory, styled):
    builder = StateGraph(Cart)
    builder.add_node("one", lambda _: {"lines": ["one"]})
    builder.add_node("two", lambda _: {"lines": ["two"]})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    graph = builder.compile(checkpointer=memory.checkpointer, interrupt_before=["two"])
    styled(graph).invoke({"lines": [], "currency": "EUR"}, config("t1"))
    newer = deployed(memory, 2, {1: lambda state: {**state, "note": "new"}})
    after = styled(builder.compile(checkpointer=newer.checkpointer, interrupt_before=["two"]))
    assert after.invoke(None, config("t1"))["lines"] == ["one", "two"]
    assert after.get_state(config("t1")).next == ()


def half_done(memory, state, name):
    builder = StateGraph(state)
    builder.add_node("first", lambda _: {name: ["first"]})
    builder.add_node("quick", lambda _: {name: ["quick"]})
    builder.add_node("ask", lambda _: {name: [interrupt("which?")]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "quick")
    builder.add_edge("first", "ask")
    return builder.compile(checkpointer=memory.checkpointer)


def test_what_a_finished_task_wrote_in_the_old_shape_is_never_dropped_in_silence(memory, styled):
    styled(half_done(memory, Basket, "items")).invoke({"items": ["i"]}, config("t1"))
    newer = deployed(memory, 2, {1: rename})
    after = styled(half_done(newer, Cart, "lines"))
    with pytest.raises(errors.StateVersionError, match=r"'t1' stopped in the middle.*'items'.*threads\.fork"):
        after.invoke(Command(resume="this"), config("t1"))
    history = after.get_state_history(config("t1"))
    assert history[0].values["lines"] == ["i", "first"]  # a look at what was goes on
    newer.threads.fork("t1", "t2", checkpoint_id=history[1].config["configurable"]["checkpoint_id"])
    after.invoke(None, config("t2"))
    assert sorted(after.invoke(Command(resume="this"), config("t2"))["lines"]) == ["first", "i", "quick", "this"]


def test_a_runs_input_in_the_old_shape_is_never_dropped_in_silence(memory, styled):
    """Naming the checkpoint that holds an input runs it again."""
    before = styled(shop(memory, Basket, "items"))
    for n in range(2):
        before.invoke({"items": [f"i{n}"]}, config("t1"))
    last = before.get_state_history(config("t1"))[2]
    assert last.metadata["source"] == "input"
    after = styled(shop(deployed(memory, 2, {1: rename}), Cart, "lines"))
    with pytest.raises(errors.StateVersionError, match="the input of a run gives 'items'"):
        after.invoke(None, last.config)
    assert after.get_state(last.config).values["lines"] == ["i0", "n0"]
    assert after.invoke({"lines": ["again"]}, last.parent_config)["lines"] == ["i0", "n0", "again", "n0"]


def test_a_runs_input_to_a_channel_that_stays_is_run_again(memory, styled):
    before = styled(shop(memory, Cart, "lines"))
    for n in range(2):
        before.invoke({"lines": [f"i{n}"], "currency": "EUR"}, config("t1"))
    last = before.get_state_history(config("t1"))[2]
    after = styled(shop(deployed(memory, 2, {1: lambda state: {**state, "note": 1}}), Cart, "lines"))
    assert after.invoke(None, last.config)["lines"] == ["i0", "n0", "i1", "n0"]


def test_what_a_finished_task_wrote_to_a_channel_that_stays_is_used(memory, styled):
    styled(half_done(memory, Cart, "lines")).invoke({"lines": ["i"], "currency": "EUR"}, config("t1"))
    newer = deployed(memory, 2, {1: lambda state: {**state, "currency": "USD"}})
    after = styled(half_done(newer, Cart, "lines"))
    done = after.invoke(Command(resume="this"), config("t1"))
    assert (sorted(done["lines"]), done["currency"]) == (["first", "i", "quick", "this"], "USD")


def test_without_the_migration_the_error_says_which_line_to_add(memory, saver, styled):
    put(saver, config("t1"), {"n": 1})
    for newer, missing in ((deployed(memory, 3), 1), (deployed(memory, 3, {1: dict}), 2)):
        for read in (
            lambda found: found.get_tuple(config("t1")),
            lambda found: found.list(config("t1")),
            lambda found: found.list(None),
        ):
            with pytest.raises(errors.StateVersionError) as caught:
                read(styled(newer.checkpointer))
            for said in ("'t1'", "version 1", "schema_version=3", f"migrations={{{missing}: "):
                assert said in str(caught.value)
            assert (caught.value.stored, caught.value.opened) == (1, 3)


def test_a_gap_matters_to_the_threads_that_need_it_only(memory, styled):
    put(deployed(memory, 2).checkpointer, config("t1"), {"n": 1})
    newer = deployed(memory, 3, {2: lambda state: {"n": state["n"] + 1}})
    assert values_of(styled(newer.checkpointer), config("t1")) == {"n": 2}


def test_a_state_of_newer_code_is_refused_with_what_to_deploy(memory, styled):
    put(deployed(memory, 3).checkpointer, config("t1"), {"n": 1})
    for older in (memory, deployed(memory, 2, {1: dict})):
        with pytest.raises(errors.StateVersionError, match=r"'t1' has a state of version 3.*deploy the newer code"):
            styled(older.checkpointer).get_tuple(config("t1"))


def boom(_):
    raise KeyError("secret")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (boom, r"migrations\[1\] \(boom\).*raised KeyError"),
        (lambda _: None, "returned NoneType and no dict"),
        (lambda state: {**state, "__start__": 1}, "'__start__', which no migration can give"),
        (lambda state: {**state, "branch:to:x": 1}, "'branch:to:x'"),
        (lambda state: {**state, 1: 1}, "a channel 1"),
    ],
)
def test_a_migration_that_fails_says_which_and_writes_nothing(function, said, memory, saver, styled):
    put(saver, config("t1"), {"n": 1})
    newer = styled(deployed(memory, 2, {1: function}).checkpointer)
    with pytest.raises(errors.StateMigrationError, match=said) as caught:
        newer.get_tuple(config("t1"))
    assert "'t1'" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError) == (function is boom)
    assert stored(memory) == (1, {"n": 1})
    assert len(saver.list(config("t1"))) == 1


def test_a_migration_that_changes_in_place_reaches_nobody_else(memory, styled):
    """It is given messages that this process keeps, and does as it likes with them."""

    def shout(state):
        for message in state["messages"]:
            message.content = message.content.upper()
        state["messages"].append(AIMessage("extra", id="extra"))
        return state

    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda _: {"messages": [AIMessage("yes", id="a")]})
    builder.add_edge(START, "say")
    before = styled(builder.compile(checkpointer=memory.checkpointer))
    before.invoke({"messages": [HumanMessage("hello", id="h")]}, config("t1"))
    newer = Memory(replace(memory._calls, shape=shapes.Shape(2, {1: shout})))  # the same process: the same caches
    after = styled(builder.compile(checkpointer=newer.checkpointer))
    said = ["HELLO", "YES", "extra"]
    for _ in range(3):
        assert [m.text for m in after.get_state(config("t1")).values["messages"]] == said
        assert [m.text for m in before.get_state(config("t1")).values["messages"]] == ["hello", "yes"]
        listed = after.get_state_history(config("t1"))
        assert [m.text for m in listed[0].values["messages"]] == said
        assert [m.text for m in listed[1].values["messages"]] == ["HELLO", "extra"]
        assert listed[2].values == {"messages": []}
    done = after.invoke({"messages": [HumanMessage("more", id="h2")]}, config("t1"))
    assert [m.text for m in done["messages"]] == ["HELLO", "yes", "extra", "more"]  # "a" is said again, in its place
    assert [m.text for m in stored(memory)[1]["messages"]] == ["HELLO", "yes", "extra", "more"]


def test_the_versions_of_a_migrated_state_are_the_same_for_every_reader(memory, saver):
    first, second, third = (f"{n:032}.0000000{n}" for n in (1, 2, 3))
    made = checkpoint(
        {"a": 1, "b": 2, "c": 3, "branch:to:x": None}, {"a": third, "b": second, "c": second, "branch:to:x": third}
    )
    made["versions_seen"] = {"node": {"a": third, "b": second, "branch:to:x": third}, "late": {"a": first, "c": second}}
    saver.put(config("t1"), made, metadata(), made["channel_versions"])
    deploys = [deployed(memory, 2, {1: lambda s: {"a": s["a"], "c": 4, "d": 5}}) for _ in range(2)]
    found, again = (newer.checkpointer.get_tuple(config("t1")).checkpoint for newer in deploys)
    assert found == again
    versions, seen = found["channel_versions"], found["versions_seen"]
    assert versions["branch:to:x"] == third
    assert set(versions) == {"a", "c", "d", "branch:to:x"}
    assert third not in {versions["a"], versions["d"]}
    assert versions["c"] != second
    assert versions["c"] < min(versions["a"], versions["d"], third)
    assert seen["node"] == {"a": versions["a"], "branch:to:x": third}
    assert seen["late"] == {"a": first, "c": versions["c"]}


def test_whole_numbers_stay_whole_numbers(memory, saver):
    put(saver, config("t1"), {"a": 1, "b": 1, "c": 1}, versions={"a": 1, "b": 5, "c": 5})
    newer = deployed(memory, 2, {1: lambda state: {**state, "d": 1}})
    found = newer.checkpointer.get_tuple(config("t1")).checkpoint
    assert found["channel_versions"] == {"a": 6, "b": 7, "c": 7, "d": 8}


def test_a_view_works_with_the_version_of_its_memory(url):
    with Memory.open(url, schema_version=2) as memory:
        put(memory.scope(tenant="acme").checkpointer, config("t1"), {"n": 1})
        raw = Memory(replace(memory._calls, shape=None)).scope(tenant="acme")
        assert raw.checkpointer.get_tuple(config("t1")).checkpoint[shapes.MARK] == 2


def test_a_copied_thread_keeps_the_version_of_each_of_its_states(memory):
    put(memory.checkpointer, config("t1"), {"n": 1})
    head = memory.checkpointer.get_tuple(config("t1"))
    newer = deployed(memory, 2, {1: lambda state: {"n": state["n"] * 10}})
    put(newer.checkpointer, head.config, {"n": 10})
    newer.threads.fork("t1", "t2")
    newer.checkpointer.copy_thread("t1", "t3")
    for thread in ("t2", "t3"):
        assert [stored(memory, thread, f.config["configurable"]["checkpoint_id"])[0]
                for f in newer.checkpointer.list(config(thread))] == [2, 1]  # fmt: skip
        assert [f.checkpoint["channel_values"]["n"] for f in newer.checkpointer.list(config(thread))] == [10, 10]


def test_version_one_is_not_written_down(memory, saver):
    put(saver, config("t1"), {"n": 1})
    found = Memory(replace(memory._calls, shape=None)).checkpointer.get_tuple(config("t1"))
    assert shapes.MARK not in found.checkpoint
    put(deployed(memory, 2).checkpointer, config("t2"), {"n": 1})
    assert shapes.MARK not in deployed(memory, 2).checkpointer.get_tuple(config("t2")).checkpoint  # LangGraph's view


def test_a_state_that_was_read_and_put_back_by_hand_has_the_version_of_who_puts_it(memory):
    put(deployed(memory, 3).checkpointer, config("t1"), {"n": 1}, fields={shapes.MARK: 7})
    assert stored(memory) == (3, {"n": 1})


def test_the_states_of_subgraphs_are_not_migrated(memory, saver):
    put(saver, config("t1"), {"n": 1})
    put(saver, config("t1", ns="inner"), {"n": 1})
    newer = deployed(memory, 2, {1: lambda _: {"n": 2}}).checkpointer
    assert values_of(newer, config("t1")) == {"n": 2}
    assert values_of(newer, config("t1", ns="inner")) == {"n": 1}


def speak(state):
    if "said" in state:
        state["messages"] = state.pop("said")
    state["spoken"] = True
    return state


def test_a_history_reads_the_new_shape_and_adds_to_it(memory, styled):
    put(memory.checkpointer, config("t1"), {"said": [HumanMessage("a", id="1")], "n": 1})
    newer = deployed(memory, 2, {1: speak})
    history = styled(newer.history("t1"))
    history.add_messages([AIMessage("b", id="2")])
    version, values = stored(memory)
    assert (version, [m.text for m in values.pop("messages")]) == (2, ["a", "b"])
    assert values == {"n": 1, "spoken": True}
    assert values_of(deployed(newer, 2).checkpointer, config("t1"))["spoken"]


def test_a_thread_that_a_history_begins_has_the_version_of_its_memory(memory):
    newer = deployed(memory, 2, {1: speak})
    for _ in range(2):
        newer.history("t1").add_messages([HumanMessage("a")])
        assert stored(memory)[0] == 2
    with pytest.raises(errors.StateVersionError, match="deploy the newer code"):
        memory.history("t1").add_messages([HumanMessage("b")])


class Deltas(TypedDict):
    log: Annotated[
        list[str], DeltaChannel(lambda old, new: old + [i for more in new for i in more], snapshot_frequency=100)
    ]


def delta_graph(memory):
    builder = StateGraph(Deltas)
    builder.add_node("add", lambda _: {"log": ["n"]})
    builder.add_edge(START, "add")
    return builder.compile(checkpointer=memory.checkpointer)


def test_a_list_that_is_kept_as_deltas_from_now_on_begins_with_what_the_migration_made(memory, styled):
    class Plain(TypedDict):
        items: Annotated[list[str], operator.add]

    styled(shop(memory, Plain, "items")).invoke({"items": ["i"]}, config("t1"))
    newer = deployed(memory, 2, {1: lambda state: {"log": [i.upper() for i in state.get("items", [])]}})
    after = styled(delta_graph(newer))
    assert after.get_state(config("t1")).values == {"log": ["I", "N0"]}
    for n in range(3):
        after.invoke({"log": [f"j{n}"]}, config("t1"))
    assert after.get_state(config("t1")).values == {"log": ["I", "N0", "j0", "n", "j1", "n", "j2", "n"]}


def test_a_list_that_is_kept_as_deltas_is_shown_to_no_migration_and_stays(memory, styled):
    before = styled(delta_graph(memory))
    before.invoke({"log": ["i"]}, config("t1"))
    seen = []
    newer = deployed(memory, 2, {1: lambda state: (seen.append(sorted(state)), state)[1]})
    after = styled(delta_graph(newer))
    assert after.invoke({"log": ["j"]}, config("t1")) == {"log": ["i", "n", "j", "n"]}
    assert after.get_state(config("t1")).values == {"log": ["i", "n", "j", "n"]}
    assert {name for names in seen for name in names} == set()


def test_a_process_of_the_old_code_that_still_runs_forks_and_loses_nothing(memory):
    """A rolling deploy: the old process had read the thread before the new one went on with it."""
    head = put(memory.checkpointer, config("t1"), {"n": 1})
    newer = deployed(memory, 2, {1: lambda state: {"n": state["n"] * 10}})
    put(newer.checkpointer, head, {"n": 20})
    late = put(memory.checkpointer, head, {"n": 3})
    assert stored(memory) == (1, {"n": 3})
    assert values_of(newer.checkpointer, late) == {"n": 30}
    assert memory.threads.get("t1").status == "forked"


def test_a_write_of_version_one_on_an_earlier_state_is_shown_as_it_is(memory, saver):
    first = put(saver, config("t1"), {"n": 1})
    saver.put_writes(first, [("n", 5)], task())
    put(saver, first, {"n": 5})
    found = deployed(memory, 2, {1: lambda state: {"n": state["n"] * 10}}).checkpointer.get_tuple(first)
    assert found.checkpoint["channel_values"] == {"n": 10}
    assert [write[1:] for write in found.pending_writes] == [("n", 5)]


def test_a_damaged_mark_is_told(memory):
    raw: Any = Memory(replace(memory._calls, shape=None))
    put(raw.checkpointer, config("t1"), {"n": 1}, fields={shapes.MARK: "two"})
    with pytest.raises(errors.CorruptValueError, match=r"'t1'.*'two'"):
        memory.checkpointer.get_tuple(config("t1"))
