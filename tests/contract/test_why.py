"""`why` names the cause, in each case in which memory fails and in those in which it doesn't."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain.tools import tool
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from tests.contract.test_compaction import Summarizer
from tests.models import RecordingModel, calling

from perdure import Memory, errors
from perdure.middleware import ClearToolResults, Compaction, ContextBudget, Ledger, Profile, Recall, remove

FACT = "The harbour opens at nine."


@dataclass(frozen=True)
class User:
    user_id: str = "ada"


@tool
def read() -> str:
    """Read something long."""
    return f"{FACT} " * 100


def agent_of(memory, *middleware, script=(), tools=(), ledger=True, **more):
    parts = [*middleware, *([Ledger()] if ledger else [])]
    given = {"checkpointer": memory.checkpointer, "store": memory.store, "context_schema": User, **more}
    return create_agent(RecordingModel(script=script), list(tools), middleware=parts, **given)


def say(agent, *texts, thread="t"):
    for text in texts:
        agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}}, context=User())


def cause(memory, styled, thread="t", about="opens at NINE", **more):
    return styled(memory).why(thread, about=about, **more).cause


def test_no_checkpointer_was_passed(memory, styled) -> None:
    agent = agent_of(memory, checkpointer=None)
    say(agent, FACT, "When does it open?")
    memory.store.put(("other",), "k", {"text": "something else"})
    found = styled(memory).why("t", about="nine")
    assert found.cause == "no_checkpointer"
    assert "checkpointer=memory.checkpointer" in found.text


def test_it_was_said_in_another_thread(memory, styled) -> None:
    agent = agent_of(memory)
    say(agent, FACT, thread="monday")
    say(agent, "When does it open?", thread="tuesday")
    found = styled(memory).why("tuesday", about="nine")
    assert (found.cause, found.more) == ("other_thread", {"threads": ["monday"]})


@pytest.mark.parametrize("wrong", ["Monday", "monday1"])
def test_the_thread_has_a_slightly_other_id(memory, styled, wrong) -> None:
    say(agent_of(memory), FACT, thread="monday")
    found = styled(memory).why(wrong)
    assert (found.cause, found.more) == ("other_thread", {"threads": ["monday"]})


def test_it_was_said_to_another_database(memory, styled, tmp_path) -> None:
    with Memory.open(f"sqlite:///{tmp_path}/other.db") as other:
        say(agent_of(other), FACT)
    assert cause(memory, styled) == "other_database"
    say(agent_of(memory), "When does it open?")
    assert cause(memory, styled) == "other_database"
    assert cause(memory, styled, thread="unlike any other") == "other_database"


def test_it_was_said_to_another_tenant(memory, styled) -> None:
    say(agent_of(memory.scope(tenant="acme")), FACT)
    assert cause(memory.scope(tenant="globex"), styled) == "other_database"
    assert cause(memory.scope(tenant="acme"), styled) == "shown"


def test_the_history_was_trimmed(memory, styled) -> None:
    say(agent_of(memory, ContextBudget(max_turns=1)), FACT, "And?", "When does it open?")
    assert cause(memory, styled) == "trimmed"


def test_the_history_was_summarised_without_it(memory, styled) -> None:
    compaction = Compaction(Summarizer(says=lambda _: ["## Done"]), trigger=("messages", 3), keep=("messages", 1))
    say(agent_of(memory, compaction, script=["answer " * 20] * 9), FACT, "And?", "When does it open?")
    assert cause(memory, styled) == "summarised"


def test_the_summary_had_it(memory, styled) -> None:
    compaction = Compaction(Summarizer(says=lambda _: [FACT]), trigger=("messages", 3), keep=("messages", 1))
    say(agent_of(memory, compaction, script=["answer " * 20] * 9), FACT, "And?", "When does it open?")
    assert cause(memory, styled) == "shown"


def test_another_middleware_filtered_it(memory, styled) -> None:
    @wrap_model_call
    def last_only(request, handler):
        return handler(request.override(messages=request.messages[-1:]))

    with memory:
        agent = agent_of(memory, last_only)
        say(agent, FACT, "When does it open?")
        assert cause(memory, lambda target: target) == "filtered"


def test_it_was_removed_from_the_state(memory, styled) -> None:
    agent = agent_of(memory)
    say(agent, FACT)
    config = {"configurable": {"thread_id": "t"}}
    messages = agent.get_state(config).values["messages"]
    agent.update_state(config, {"messages": remove(messages, messages[:1])})
    say(agent, "When does it open?")
    assert cause(memory, styled) == "removed"


def test_the_result_of_a_tool_was_cleared(memory, styled) -> None:
    agent = agent_of(memory, ClearToolResults(keep=0), tools=[read], script=[calling("read"), "read"])
    say(agent, "Read.", "When does it open?")
    assert cause(memory, styled) == "cleared"


def test_it_is_only_in_the_store_and_nothing_recalls_it(memory, styled) -> None:
    memory.store.put(("facts", "ada"), "harbour", {"text": FACT})
    say(agent_of(memory), "When does it open?")
    found = styled(memory).why("t", about="nine")
    assert found.cause == "not_recalled"
    assert "Recall" in found.text


def test_it_is_where_recall_does_not_look(memory, styled) -> None:
    memory.store.put(("facts", "bob"), "harbour", {"text": FACT})
    say(agent_of(memory, Recall(("facts", "{user_id}"))), "When does the harbour open?")
    found = styled(memory).why("t", about="nine")
    assert found.cause == "not_recalled"
    assert "facts/ada" in found.text


def test_no_search_finds_what_is_quarantined(memory, styled) -> None:
    memory.store.put(("facts", "ada"), "harbour", {"text": FACT}, quarantined=True)
    say(agent_of(memory, Recall(("facts", "{user_id}"))), "When does the harbour open?")
    found = styled(memory).why("t", about="nine")
    assert (found.cause, "quarantined" in found.text) == ("not_recalled", True)


def test_it_was_recalled_below_the_cut(memory, styled) -> None:
    memory.store.put(("facts", "ada"), "harbour", {"text": FACT})
    memory.store.put(("facts", "ada"), "lamp", {"text": "The lighthouse keeper sleeps."})
    say(agent_of(memory, Recall(("facts", "{user_id}"), min_score=0.6)), "Does the lighthouse keeper see the harbour?")
    assert cause(memory, styled) == "below_cut"


def test_there_was_no_room_for_it(memory, styled) -> None:
    memory.store.put(("facts", "ada"), "harbour", {"text": FACT + " word" * 2000})
    say(agent_of(memory, Recall(("facts", "{user_id}"), max_tokens=50)), "Is there a harbour?")
    assert cause(memory, styled) == "no_room"


def test_the_model_saw_it(memory, styled) -> None:
    say(agent_of(memory), FACT, "When does it open?")
    assert cause(memory, styled) == "shown"


def test_the_model_saw_it_among_its_memories(memory, styled) -> None:
    memory.store.put(("facts", "ada"), "harbour", {"text": FACT})
    say(agent_of(memory, Recall(("facts", "{user_id}"))), "Is there a harbour?")
    assert cause(memory, styled) == "shown"


def test_nothing_was_recorded(memory, styled) -> None:
    say(agent_of(memory, ledger=False), FACT, "When does it open?")
    found = styled(memory).why("t", about="nine")
    assert (found.cause, found.call) == ("no_ledger", None)
    assert "Ledger()" in found.text


@pytest.mark.parametrize("own", [True, None])
def test_an_agent_that_is_a_subgraph_is_looked_at_too(memory, styled, own) -> None:
    inner = agent_of(memory, ContextBudget(max_turns=1), checkpointer=own)
    builder = StateGraph(MessagesState)
    builder.add_node("agent", inner)
    builder.add_edge(START, "agent")
    say(builder.compile(checkpointer=memory.checkpointer, store=memory.store), FACT, "When does it open?")
    assert cause(memory, styled) == "trimmed"


def test_a_step_is_looked_at_on_its_own(memory, styled) -> None:
    agent = agent_of(memory, ContextBudget(max_turns=1))
    say(agent, FACT, "And?")
    steps = [
        record["step"] for record in agent.get_state({"configurable": {"thread_id": "t"}}).values["context_ledger"]
    ]
    assert cause(memory, styled, step=steps[0]) == "shown"
    assert cause(memory, styled, step=steps[1]) == "trimmed"
    with pytest.raises(errors.NotFoundError, match=str(steps[1])):
        cause(memory, styled, step=77)


def test_without_a_text_the_record_of_the_call_is_told(memory, styled) -> None:
    say(agent_of(memory, ContextBudget(max_turns=1), system_prompt="Be brief."), FACT, "And?")
    found = styled(memory).why("t")
    assert found.call["seen"] == [[2, 2]]
    assert found.call["state"] == 3
    tokens = found.call["tokens"]
    assert tokens["system"] > 0
    assert tokens["total"] == sum(size for name, size in tokens.items() if name != "total")
    assert FACT not in repr(found.call)


def test_the_record_holds_ids_and_sizes_and_no_content(memory, styled) -> None:
    memory.store.put(("facts", "ada"), "harbour", {"text": FACT})
    agent = agent_of(memory, Recall(("facts", "{user_id}")), ContextBudget(1000))
    say(agent, "Is there a harbour, dear friend?")
    [record] = agent.get_state({"configurable": {"thread_id": "t"}}).values["context_ledger"]
    assert "nine" not in repr(record)
    assert "dear" not in repr(record)
    assert record["notes"][0]["shown"][0][0] == "harbour"


CONFIG = {"configurable": {"thread_id": "t"}}


def test_a_profile_that_was_stored_after_the_call_was_not_shown_in_it(memory, styled) -> None:
    say(agent_of(memory, Profile(("profiles", "{user_id}"))), "When does it open?")
    memory.store.put(("profiles", "ada"), "profile", {"text": FACT})
    found = styled(memory).why("t", about="nine")
    assert (found.cause, "after that call" in found.text) == ("not_recalled", True)


def test_an_item_below_the_profile_s_place_is_not_the_profile(memory, styled) -> None:
    memory.store.put(("profiles", "ada"), "profile", {"text": "short"})
    memory.store.put(("profiles", "ada", "work"), "profile", {"text": FACT})
    say(agent_of(memory, Profile(("profiles", "{user_id}"))), "When does it open?")
    assert cause(memory, styled) == "not_recalled"
    assert cause(memory, styled, about="short") == "shown"


def test_items_with_one_key_in_two_namespaces_are_told_apart(memory, styled) -> None:
    memory.store.put(("facts", "ada", "work"), "harbour", {"text": FACT + " word" * 2000})
    memory.store.put(("facts", "ada", "home"), "harbour", {"text": "A harbour is near."})
    say(agent_of(memory, Recall(("facts", "{user_id}"), max_tokens=100)), "Is there a harbour?")
    assert cause(memory, styled) == "no_room"
    assert cause(memory, styled, about="is near") == "shown"


def test_of_several_forks_it_looks_at_the_one_that_the_thread_goes_on_with(memory, styled) -> None:
    agent = agent_of(memory, ContextBudget(max_turns=1))
    say(agent, "Hello.")
    first = agent.get_state(CONFIG).config
    say(agent, FACT)
    second = agent.get_state(CONFIG).config
    agent.invoke({"messages": [("user", "Something else.")]}, first, context=User())
    agent.invoke({"messages": [("user", "When does it open?")]}, second, context=User())
    records = agent.get_state(CONFIG).values["context_ledger"]
    assert cause(memory, styled, step=records[1]["step"]) == "shown"
    assert cause(memory, styled) == "trimmed"


def test_after_the_call_s_checkpoint_was_pruned_no_other_messages_are_taken_for_its_own(memory, styled) -> None:
    agent = agent_of(memory, ContextBudget(max_turns=2))
    say(agent, "One.", "Two.", FACT, "When does it open?")
    messages = agent.get_state(CONFIG).values["messages"]
    memory.checkpointer.prune(["t"])
    assert cause(memory, styled) == "shown"
    agent.update_state(CONFIG, {"messages": remove(messages, messages[:4])})
    memory.checkpointer.prune(["t"])
    found = styled(memory).why("t", about="nine")
    assert (found.cause, "pruned" in found.text) == ("no_ledger", True)


def test_results_that_langchain_adds_for_unreadable_calls_move_nothing(memory, styled) -> None:
    wrong = [{"name": "read", "args": "{", "id": "bad", "error": "no JSON"}]
    script = [AIMessage("", invalid_tool_calls=wrong), "two", "three"]
    agent = agent_of(memory, script=script)
    say(agent, "One.", FACT)
    assert [one.type for one in agent.get_state(CONFIG).values["messages"]] == ["human", "ai", "tool", "human", "ai"]
    assert cause(memory, styled) == "shown"


def test_the_text_may_have_lines_and_quotes(memory, styled) -> None:
    memory.store.put(("facts",), "sign", {"text": 'The sign says "open"\nat nine.'})
    say(agent_of(memory), "Two\nlines.")
    assert cause(memory, styled, about="two lines.") == "shown"
    assert cause(memory, styled, about='says "open" at\nnine') == "not_recalled"
    for wrong in ("", " \n", "x" * 2001, 5):
        with pytest.raises(errors.InvalidInputError):
            cause(memory, styled, about=wrong)


def test_a_graph_of_one_s_own_without_messages_is_told_where_its_state_holds_it(memory, styled) -> None:
    class Own(TypedDict):
        chat: str
        context_ledger: str

    builder = StateGraph(Own)
    builder.add_node("say", lambda _: {"chat": FACT, "context_ledger": "mine"})
    builder.add_edge(START, "say")
    builder.compile(checkpointer=memory.checkpointer).invoke({"chat": ""}, CONFIG)
    found = styled(memory).why("t", about="nine")
    assert (found.cause, "'chat'" in found.text) == ("no_ledger", True)


@pytest.mark.parametrize("late", [ContextBudget(), ClearToolResults(), Profile(default="be brief")])
def test_a_part_after_the_ledger_is_refused_as_its_work_would_not_be_recorded(memory, styled, late) -> None:
    stores = {"checkpointer": memory.checkpointer, "store": memory.store, "context_schema": User}
    agent = styled(create_agent(RecordingModel(), [], middleware=[Ledger(), late], **stores))
    with pytest.raises(errors.ConfigurationError, match="after Ledger"):
        agent.invoke({"messages": [("user", "hello")]}, CONFIG, context=User())
