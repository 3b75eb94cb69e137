"""A thread's messages as LangChain's history: the same ones that agents with the same memory see."""

from __future__ import annotations

import itertools
from typing import Annotated

import pytest
from benchmarks import agents
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, interrupt
from tests.clocks import Clock, clocked
from tests.shapes import deployed, stored
from tests.support import config, put, task
from typing_extensions import TypedDict

from perdure import Memory, errors
from perdure.core.conversations import marks


@pytest.fixture
def history(memory, styled):
    return styled(memory.history("t1"))


def listed(history):
    """Return the messages in the style of a wrapped history."""
    return history._target.messages if history._runner is None else history.get_messages()


def texts(messages):
    return [message.text for message in messages]


def echo(memory, **more):
    """Return a graph whose node says how many messages it sees."""
    builder = StateGraph(MessagesState)
    builder.add_node("echo", lambda state: {"messages": [AIMessage(f"I see {len(state['messages'])}")]})
    builder.add_edge(START, "echo")
    return builder.compile(checkpointer=memory.checkpointer, **more)


def tool_sequence():
    call = {"name": "look", "args": {"at": ["a", 1, 1.0, True]}, "id": "c1", "type": "tool_call"}
    return [
        SystemMessage("be brief", id="s"),
        HumanMessage("what is there?", id="h"),
        AIMessage([{"type": "text", "text": "let me look"}], id="a1", tool_calls=[call]),
        ToolMessage(
            "a table", id="r", tool_call_id="c1", artifact={"rows": [(1, 2)], "raw": b"\x00"}, status="success"
        ),
        AIMessage("a table", id="a2", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    ]


def test_a_history_is_langchains_and_its_messages_come_back_equal(memory, history):
    assert isinstance(memory.history("t1"), BaseChatMessageHistory)
    assert listed(history) == []
    assert memory.threads.get("t1") is None  # looking begins nothing
    given = tool_sequence()
    history.add_messages(given)
    found = listed(history)
    assert found == given
    assert list(map(type, found)) == list(map(type, given))
    assert type(found[2].tool_calls[0]["args"]["at"][3]) is bool
    assert found[3].artifact == {"rows": [(1, 2)], "raw": b"\x00"}
    assert (memory.threads.get("t1").turns, memory.threads.get("t1").checkpoints) == (1, 1)
    assert memory.threads.get("t1").title == "what is there?"


@pytest.mark.parametrize("shape", agents.SHAPES)
def test_a_history_has_what_an_agent_said_and_the_agent_sees_what_it_adds(memory, history, styled, shape):
    agent = styled(agents.build(shape, memory.checkpointer))
    state = agent.invoke(agents.human(), config("t1"))
    assert listed(history) == state["messages"]
    history.add_messages([HumanMessage("between", id="b"), AIMessage("indeed", id="i")])
    after = agent.invoke(agents.human(), config("t1"))["messages"]
    count = len(state["messages"])
    assert after[:count] == state["messages"]
    assert texts(after[count : count + 2]) == ["between", "indeed"]
    assert listed(history) == after
    assert memory.threads.get("t1").status == "idle"
    assert agent.get_state(config("t1")).next == ()


def test_an_agent_goes_on_with_a_thread_that_a_history_began(memory, history, styled):
    history.add_messages([HumanMessage("one"), AIMessage("two")])
    graph = styled(echo(memory))
    assert graph.get_state(config("t1")).next == ()
    assert texts(graph.invoke({"messages": [("user", "three")]}, config("t1"))["messages"])[-1] == "I see 3"
    metadata = [found.metadata for found in graph.get_state_history(config("t1"))]
    assert [found["step"] for found in metadata] == [3, 2, 1, 0]
    assert (metadata[-1]["source"], metadata[-1]["parents"]) == ("update", {})
    assert memory.threads.get("t1").turns == 2


def test_what_was_seen_of_other_channels_stays(memory, history):
    class State(MessagesState):
        files: dict

    builder = StateGraph(State)
    builder.add_node("a", lambda _: {"files": {"x": "y" * 500}, "messages": [AIMessage("done")]})
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=memory.checkpointer)
    graph.invoke({"messages": [("user", "go")]}, config("t1"))
    before = memory.checkpointer.get_tuple(config("t1")).checkpoint
    history.add_messages([HumanMessage("more")])
    after = memory.checkpointer.get_tuple(config("t1")).checkpoint
    assert graph.get_state(config("t1")).values["files"] == {"x": "y" * 500}
    assert after["versions_seen"] == before["versions_seen"]
    changed = {
        name for name, version in after["channel_versions"].items() if before["channel_versions"][name] != version
    }
    assert changed == {"messages"}
    assert after["channel_versions"]["messages"] > max(before["channel_versions"].values())


def test_a_message_added_twice_is_there_once_and_nothing_is_written(memory, history):
    given = HumanMessage("hello")
    history.add_messages([given, given])
    history.add_messages([given])
    history.add_messages([HumanMessage("hello", id=given.id)])
    assert texts(listed(history)) == ["hello"]
    assert memory.threads.get("t1").checkpoints == 1
    history.add_messages([HumanMessage("hello", id=given.id, additional_kwargs={"n": 1})])
    history.add_messages([HumanMessage("hello", id=given.id, additional_kwargs={"n": True})])
    assert listed(history)[0].additional_kwargs == {"n": True}
    assert memory.threads.get("t1").checkpoints == 3
    assert memory.threads.get("t1").turns == 1
    history.add_messages([])
    assert memory.threads.get("t1").checkpoints == 3


def test_the_whole_list_added_at_each_turn_is_kept_once(memory, history):
    said = []
    for n in range(10):
        said += [HumanMessage(f"q{n}"), AIMessage(f"a{n}")]
        history.add_messages(said)
    assert texts(listed(history)) == texts(said)
    assert memory.threads.get("t1").turns == 10


def test_messages_are_replaced_and_removed_by_their_ids(memory, history):
    history.add_messages([HumanMessage("one", id="1"), AIMessage("two", id="2"), HumanMessage("three", id="3")])
    history.add_messages([AIMessage("two!", id="2"), RemoveMessage(id="1")])
    assert texts(listed(history)) == ["two!", "three"]
    with pytest.raises(errors.InvalidInputError, match="doesn't exist"):
        history.add_messages([HumanMessage("four"), RemoveMessage(id="9")])
    history.add_messages([RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("new", id="n")])
    assert texts(listed(history)) == ["new"]
    for one in ("text", HumanMessage("text"), {"role": "user", "content": "text"}, None):
        with pytest.raises(errors.InvalidInputError, match="list of messages"):
            history.add_messages(one)


def test_fifty_messages_added_at_one_moment_come_back_in_order(memory, styled):
    history = styled(clocked(memory, Clock()).history("t1"))
    one_by_one = [HumanMessage(f"m{n}") for n in range(25)]
    for message in one_by_one:
        history.add_messages([message])
    together = [HumanMessage(f"m{n}") for n in range(25, 50)]
    history.add_messages(together)
    assert texts(listed(history)) == [f"m{n}" for n in range(50)]
    assert texts(said.message for said in history.transcript()) == [f"m{n}" for n in range(50)]
    assert len({said.at for said in history.transcript()}) == 1


def test_a_batch_is_one_transaction(memory, history):
    with pytest.raises(errors.UnsupportedValueError, match=r"messages\[1\]"):
        history.add_messages([HumanMessage("good"), HumanMessage("bad", additional_kwargs={"x": object()})])
    assert memory.threads.get("t1") is None
    history.add_messages([HumanMessage(str(n)) for n in range(50)])
    assert memory.threads.get("t1").checkpoints == 1


def test_what_a_reader_changes_in_place_reaches_nobody(memory, history):
    given = HumanMessage("mine", id="1")
    history.add_messages([given])
    listed(history)[0].content = "changed"
    given.content = "changed as well"
    history.add_messages([AIMessage("next", id="2")])
    assert texts(listed(history)) == ["mine", "next"]
    assert texts(memory.history("t1").messages) == ["mine", "next"]


def test_messages_without_ids_get_some_when_others_are_added(memory, history):
    put(memory.checkpointer, config("t1"), {"messages": [HumanMessage("one"), HumanMessage("one")]})
    kept = memory.checkpointer.get_tuple({"configurable": {**config("t1")["configurable"], "__pregel_x": 1}})
    history.add_messages([])
    assert memory.threads.get("t1").checkpoints == 1
    history.add_messages([HumanMessage("two")])
    assert texts(listed(history)) == ["one", "one", "two"]
    assert len({message.id for message in listed(history)} - {None}) == 3
    assert [message.id for message in kept.checkpoint["channel_values"]["messages"]] == [None, None]  # a run's own


@pytest.mark.anyio
async def test_the_async_methods_hop_to_no_thread_of_langchains(memory, monkeypatch):
    async def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("langchain_core.chat_history.run_in_executor", refuse)
    history = memory.history("t1")
    await history.aadd_messages([HumanMessage("one", id="1")])
    assert texts(await history.aget_messages()) == ["one"]
    await history.aclear()
    assert [said.present for said in await history.atranscript()] == [False]
    assert (await history.afind("1")).text == "one"


def test_clearing_empties_the_present_state_and_nothing_else(memory, history, styled):
    history.clear()
    assert memory.threads.get("t1") is None
    graph = styled(echo(memory))
    graph.invoke({"messages": [("user", "one")]}, config("t1"))
    checkpoints = memory.threads.get("t1").checkpoints
    history.clear()
    history.clear()
    assert listed(history) == []
    assert memory.threads.get("t1").checkpoints == checkpoints + 1
    assert [len(found.values.get("messages", [])) for found in graph.get_state_history(config("t1"))][:2] == [0, 2]
    assert texts(graph.invoke({"messages": [("user", "two")]}, config("t1"))["messages"]) == ["two", "I see 1"]
    assert [said.present for said in history.transcript()] == [False, False, True, True]


def test_turns_are_what_people_said(memory, history, styled):
    history.add_messages([HumanMessage("a"), AIMessage("b"), HumanMessage("c"), AIMessage("d")])
    history.add_messages([AIMessage("e")])
    recalled = marks.said("about you", "memories")
    history.add_messages([recalled])
    assert memory.threads.get("t1").turns == 2
    first = [*memory.checkpointer.list(config("t1"))][-1].config["configurable"]["checkpoint_id"]
    history.add_messages([HumanMessage("f")])
    assert memory.threads.get("t1").turns == 3
    assert styled(memory.threads).fork("t1", "t2", checkpoint_id=first).turns == 2


# A state whose shape has changed


def renamed(state):
    """Lead from a state with `talk` to one with `messages`, and give it a note."""
    return {"messages": state.pop("talk"), "note": state["note"] * 2}


def test_a_history_reads_an_older_state_as_migrated_and_stores_it_anew(memory, styled):
    put(memory.checkpointer, config("t1"), {"talk": [HumanMessage("old", id="1")], "note": "n" * 200})
    newer = deployed(memory, 2, {1: renamed})
    history = styled(newer.history("t1"))
    assert texts(listed(history)) == ["old"]
    assert stored(memory)[0] == 1
    history.add_messages([HumanMessage("old", id="1")])
    assert stored(memory)[0] == 1  # nothing was added, so nothing is stored
    history.add_messages([AIMessage("new", id="2")])
    version, values = stored(memory)
    assert (version, texts(values["messages"]), values["note"]) == (2, ["old", "new"], "n" * 400)
    assert "talk" not in values
    assert texts(one.message for one in history.transcript()) == ["old", "new"]
    newer.history("t2").add_messages([HumanMessage("begun")])
    assert stored(memory, "t2")[0] == 2
    older = styled(deployed(memory).history("t1"))
    for step in (lambda: listed(older), older.clear):
        with pytest.raises(errors.StateVersionError):
            step()


# What is refused


def asking(memory):
    builder = StateGraph(MessagesState)
    builder.add_node("ask", lambda _: {"messages": [HumanMessage(interrupt("sure?"))]})
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=memory.checkpointer)


def test_an_interrupt_that_waits_is_not_lost(memory, history, styled):
    graph = styled(asking(memory))
    graph.invoke({"messages": [("user", "go")]}, config("t1"))
    for change in (lambda: history.add_messages([HumanMessage("more")]), history.clear):
        with pytest.raises(errors.ConflictError, match="Resume the graph"):
            change()
    assert texts(listed(history)) == ["go"]  # reading goes on
    assert memory.threads.get("t1").status == "interrupted"
    assert texts(graph.invoke(Command(resume="yes"), config("t1"))["messages"]) == ["go", "yes"]
    history.add_messages([HumanMessage("more")])
    assert texts(listed(history)) == ["go", "yes", "more"]


def test_what_tasks_of_a_run_that_stopped_have_done_is_not_lost(memory, history):
    head = put(memory.checkpointer, config("t1"), {"messages": [HumanMessage("one", id="1")]})
    memory.checkpointer.put_writes(head, [("messages", [AIMessage("two")])], task())
    with pytest.raises(errors.ConflictError, match="half done"):
        history.add_messages([HumanMessage("more")])


def meddling(memory, thread):
    """Return a graph whose node adds to a history instead of returning its message."""

    def add(_):
        memory.history(thread).add_messages([HumanMessage("meanwhile")])
        return {"messages": [AIMessage("done")]}

    builder = StateGraph(MessagesState)
    builder.add_node("add", add)
    builder.add_edge(START, "add")
    return builder.compile(checkpointer=memory.checkpointer)


def test_a_node_is_told_to_return_what_it_would_add_to_its_own_thread(memory, styled):
    graph = styled(meddling(memory, "t1"))
    for tenant in ({}, {"tenant_id": "acme"}):
        with pytest.raises(errors.ConflictError, match="Let the node return"):
            graph.invoke({"messages": [("user", "go")]}, config("t1", **tenant))
        graph.invoke({"messages": [("user", "go")]}, config("t2", **tenant))
    assert texts(memory.scope(tenant="acme").history("t1").messages) == ["go", "meanwhile"]


def test_what_is_added_while_a_run_is_under_way_is_on_the_other_line(memory, history, styled):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perdure.langgraph.adding.refuse_inside", lambda _: None)  # as from another process
        graph = styled(meddling(memory, "t1"))
        graph.invoke({"messages": [("user", "go")]}, config("t1"), durability="sync")
    assert texts(listed(history)) == ["go", "done"]
    assert memory.threads.get("t1").status == "forked"
    everything = [texts(found.values.get("messages", [])) for found in graph.get_state_history(config("t1"))]
    assert ["go", "meanwhile"] in everything


def test_a_run_that_failed_is_no_hindrance(memory, history):
    head = put(memory.checkpointer, config("t1"), {"messages": [HumanMessage("one", id="1")]})
    memory.checkpointer.put_writes(head, [("__error__", ValueError("no"))], task())
    history.add_messages([HumanMessage("more")])
    assert texts(listed(history)) == ["one", "more"]


def test_a_thread_of_another_subject_is_refused_without_a_word_of_it(memory, styled):
    memory.scope(subject="ada").history("t1").add_messages([HumanMessage("the secret")])
    memory.history("t2").add_messages([HumanMessage("nobody's")])
    assert memory.threads.get("t1").subject == "ada"
    for thread in ("t1", "t2"):
        other = styled(memory.scope(subject="bob").history(thread))
        steps = [
            lambda other=other: listed(other),
            lambda other=other: other.add_messages([HumanMessage("mine")]),
            other.clear,
            other.transcript,
            lambda other=other: other.find("x"),
        ]
        for step in steps:
            with pytest.raises(errors.InvalidIdError, match="not about subject 'bob'") as refused:
                step()
            assert "secret" not in str(refused.value)
    assert texts(memory.scope(subject="ada").history("t1").messages) == ["the secret"]


def test_tenants_are_walls(memory, styled):
    acme, globex = (styled(memory.scope(tenant=name).history("t1")) for name in ("acme", "globex"))
    acme.add_messages([HumanMessage("acme's", id="1")])
    assert listed(globex) == []
    globex.add_messages([HumanMessage("globex's", id="1")])
    acme.clear()
    assert (listed(acme), texts(listed(globex))) == ([], ["globex's"])
    assert globex.find("1").text == "globex's"
    assert texts(said.message for said in acme.transcript()) == ["acme's"]


def test_a_history_that_a_run_makes_is_of_its_tenant(memory):
    def look(state):
        found = memory.history("t1")
        return {"messages": [AIMessage(" ".join(texts(found.messages)), id="seen")]}

    memory.scope(tenant="acme").history("t1").add_messages([HumanMessage("acme's")])
    builder = StateGraph(MessagesState)
    builder.add_node("look", look)
    builder.add_edge(START, "look")
    graph = builder.compile(checkpointer=memory.checkpointer)
    state = graph.invoke({"messages": []}, config("t9", tenant_id="acme"))
    assert state["messages"][-1].text == "acme's"


def test_a_tenant_has_to_be_named_where_one_is_required():
    with Memory.open("sqlite://", tenants="required") as memory:
        with pytest.raises(errors.InvalidIdError, match="no tenant"):
            memory.history("t1")
        for name in ("", "a\nb", 7):
            with pytest.raises(errors.InvalidIdError):
                memory.scope(tenant="acme").history(name)


@pytest.mark.parametrize("channel", ["", "__start__", "__pregel_tasks", "branch:to:n", "a\0"])
def test_a_channel_of_langgraphs_own_is_no_history(channel):
    with Memory.open("sqlite://") as memory, pytest.raises(errors.InvalidIdError, match="channel"):
        memory.history("t", channel=channel)


def test_another_channel_can_be_the_history_and_one_without_messages_can_not(memory, styled):
    notes = styled(memory.history("t1", channel="notes"))
    notes.add_messages([HumanMessage("a note")])
    assert texts(listed(notes)) == ["a note"]
    assert memory.history("t1").messages == []
    put(memory.checkpointer, config("t2"), {"messages": [{"role": "user", "content": "x" * 99}]})
    put(memory.checkpointer, config("t3"), {"messages": "x" * 500})
    put(memory.checkpointer, config("t4"), {"messages": ["a", "b"]})
    for thread in ("t2", "t3", "t4"):
        wrong = styled(memory.history(thread))
        for step in (
            lambda wrong=wrong: listed(wrong),
            wrong.transcript,
            lambda w=wrong: w.add_messages([AIMessage("")]),
        ):
            with pytest.raises(errors.InvalidInputError, match="no list of messages"):
                step()


class Delta(TypedDict):
    messages: Annotated[list, DeltaChannel(lambda old, writes: [*old, *itertools.chain(*writes)])]


def test_a_channel_that_only_its_graph_can_put_together_is_refused(memory, history):
    builder = StateGraph(Delta)
    builder.add_node("a", lambda _: {"messages": [AIMessage("done")]})
    builder.add_edge(START, "a")
    builder.compile(checkpointer=memory.checkpointer).invoke({"messages": [HumanMessage("go")]}, config("t1"))
    for step in (lambda: listed(history), history.transcript, history.clear):
        with pytest.raises(errors.InvalidInputError, match="DeltaChannel"):
            step()


# Everything that was said


def test_a_transcript_has_what_was_removed_and_says_so(memory, history, styled):
    graph = styled(echo(memory))
    state = graph.invoke({"messages": [HumanMessage("one", id="1")]}, config("t1"))
    answer = state["messages"][1].id
    graph.update_state(config("t1"), {"messages": [RemoveMessage(id=answer), HumanMessage("one!", id="1")]})
    history.add_messages([HumanMessage("two", id="2")])
    graph.update_state(config("t1"), {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("new", id="3")]})
    history.clear()
    history.add_messages([HumanMessage("two again", id="2")])
    said = history.transcript()
    assert texts(one.message for one in said) == ["one!", "I see 1", "two again", "new"]
    assert [one.message.id for one in said] == ["1", answer, "2", "3"]
    assert [one.present for one in said] == [False, False, True, False]
    assert [one.step for one in said] == sorted(one.step for one in said)
    times = {found.metadata["step"]: found.checkpoint["ts"] for found in memory.checkpointer.list(config("t1"))}
    assert [one.at.isoformat() for one in said] == [times[one.step] for one in said]
    assert history.transcript(limit=2) == said[2:]
    assert history.transcript(limit=0) == []
    with pytest.raises(errors.InvalidLimitError):
        history.transcript(limit=-1)


def test_a_content_that_comes_back_is_the_last_one(memory, history):
    for text in ("first", "second", "first"):
        history.add_messages([HumanMessage(text, id="1")])
    assert texts(one.message for one in history.transcript()) == ["first"]
    history.add_messages([HumanMessage("third", id="1"), RemoveMessage(id="1")])
    history.add_messages([HumanMessage("fourth", id="1")])
    history.clear()
    assert texts(one.message for one in history.transcript()) == ["fourth"]


def test_a_transcript_follows_the_line_of_the_present_state(memory, history, styled):
    graph = styled(echo(memory))
    graph.invoke({"messages": [HumanMessage("one")]}, config("t1"))
    base = graph.get_state(config("t1")).config
    graph.invoke({"messages": [HumanMessage("left out")]}, config("t1"))
    graph.invoke({"messages": [HumanMessage("instead")]}, base)
    assert texts(one.message for one in history.transcript()) == ["one", "I see 1", "instead", "I see 3"]


def test_pruning_ends_what_a_transcript_has(memory, history):
    history.add_messages([HumanMessage("old", id="1")])
    history.add_messages([RemoveMessage(id="1"), HumanMessage("new", id="2")])
    assert texts(one.message for one in history.transcript()) == ["old", "new"]
    assert history.find("1").text == "old"
    memory.checkpointer.prune(["t1"])
    assert texts(one.message for one in history.transcript()) == ["new"]
    assert history.find("1") is None
    assert memory.history("nobody").transcript() == []


def test_a_result_that_was_cleared_is_told_in_full(memory, history):
    history.add_messages(tool_sequence())
    original = listed(history)[3]
    reference = original.model_copy(
        update={"content": "[cleared]", "artifact": None, "response_metadata": {"perdure": {"kind": "cleared"}}}
    )
    history.add_messages([reference])
    assert listed(history)[3].content == "[cleared]"
    told = [one for one in history.transcript() if one.message.id == "r"]
    assert [(one.message, one.present) for one in told] == [(original, True)]
    assert history.find("r") == original
    memory.checkpointer.prune(["t1"])  # then only the reference is left
    assert history.find("r").content == "[cleared]"


def test_a_message_is_found_in_its_own_thread_only(memory, history):
    history.add_messages([HumanMessage("mine", id="1")])
    memory.history("t2").add_messages([HumanMessage("other", id="2")])
    assert history.find("1").text == "mine"
    assert history.find("2") is None


def test_a_long_transcript_looks_at_each_entry_once(memory_url, monkeypatch):
    """200 turns of three checkpoints, 2,000 messages; the control reads every checkpoint's list."""
    from perdure.core import decoding  # noqa: PLC0415 - counted

    with Memory.open(memory_url) as memory:
        history, n = memory.history("t1"), itertools.count()
        for _ in range(200):
            for size in (1, 4, 5):
                history.add_messages(
                    [HumanMessage(f"message {number}", id=f"{number}") for number in itertools.islice(n, size)]
                )
            history.add_messages([RemoveMessage(id=str(next(n) - 7))])
        decoded = []
        value = decoding.Decoder.value
        monkeypatch.setattr(decoding.Decoder, "value", lambda self, packed: decoded.append(1) or value(self, packed))
        said = history.transcript()
        assert len(said) == 2000
        assert len(decoded) == 2000
        assert sum(one.present for one in said) == 1800
        decoded.clear()
        for found in itertools.islice(memory.checkpointer.list(config("t1")), 20):
            assert found.checkpoint["channel_values"]["messages"]
        assert len(decoded) > 1800
