"""Chains that were written for a message history: LangChain's wrapper for them, and loading and saving by hand."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableFieldSpec, RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from perdure import errors

# The wrapper is deprecated in favour of agents with a checkpointer; the chains that use it go on working with ours.
pytestmark = pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")

SPECS = [ConfigurableFieldSpec(id=name, annotation=str) for name in ("tenant", "actor", "thread")]
PROMPT = ChatPromptTemplate([MessagesPlaceholder("history"), ("user", "{question}")])


def model(prompt):
    """Fake: says what it sees."""
    messages = prompt.to_messages() if hasattr(prompt, "to_messages") else prompt
    return AIMessage(f"I see {len(messages)}", id=f"answer to {messages[-1].text}")


def where(tenant="acme", actor="ada", thread="main"):
    return {"configurable": {"tenant": tenant, "actor": actor, "thread": thread}}


def factory(memory):
    return lambda tenant, actor, thread: memory.scope(tenant=tenant, subject=actor).history(thread)


def wrapped(memory, chain, **keys):
    return RunnableWithMessageHistory(chain, factory(memory), history_factory_config=SPECS, **keys)


def texts(messages):
    return [message.text for message in messages]


def test_a_plain_chain_remembers_by_tenant_actor_and_thread(memory, styled):
    keys = {"input_messages_key": "question", "history_messages_key": "history"}
    chain = styled(wrapped(memory, PROMPT | RunnableLambda(model), **keys))
    for question in ("one", "two", "three"):
        chain.invoke({"question": question}, where())
    assert chain.invoke({"question": "hello"}, where(tenant="globex")).text == "I see 1"
    assert chain.invoke({"question": "other"}, where(thread="aside")).text == "I see 1"
    ours = memory.scope(tenant="acme", subject="ada").history("main")
    assert texts(ours.messages) == ["one", "I see 1", "two", "I see 3", "three", "I see 5"]
    shown = memory.scope(tenant="acme").threads.get("main")
    assert (shown.turns, shown.checkpoints, shown.subject) == (3, 3, "ada")  # a batch is one checkpoint
    assert texts(memory.scope(tenant="globex").history("main").messages) == ["hello", "I see 1"]
    with pytest.raises(errors.InvalidIdError, match="not about subject 'bob'"):
        chain.invoke({"question": "let me see"}, where(actor="bob"))


def test_a_chain_that_streams_saves_what_it_said(memory, styled):
    keys = {"input_messages_key": "question", "history_messages_key": "history"}
    chain = styled(wrapped(memory, PROMPT | RunnableLambda(model), **keys))
    list(chain.stream({"question": "one"}, where()))
    assert texts(memory.scope(tenant="acme").history("main").messages) == ["one", "I see 1"]


def test_a_chain_called_with_the_whole_list_each_turn_keeps_one_copy(memory, styled):
    chain = styled(
        wrapped(memory, RunnableLambda(lambda given: model(given["messages"])), input_messages_key="messages")
    )
    said = []
    for n in range(5):
        said.append(HumanMessage(f"q{n}", id=f"q{n}"))
        said.append(chain.invoke({"messages": list(said)}, where()))
    found = memory.scope(tenant="acme").history("main")
    assert texts(found.messages) == texts(said)
    assert memory.scope(tenant="acme").threads.get("main").turns == 5


def by_hand(memory, history, *, awaited, **keys):
    """Return a chain that loads what was said before a call and saves what was said after it."""
    bridge = history.as_memory(**keys)
    if awaited:
        load, save = (
            RunnableLambda(bridge.aload_memory_variables),
            lambda run: bridge.asave_context(run.inputs, run.outputs),
        )
    else:
        load, save = (
            RunnableLambda(bridge.load_memory_variables),
            lambda run: bridge.save_context(run.inputs, run.outputs),
        )
    chain = RunnablePassthrough.assign(history=load | itemgetter("history")) | PROMPT | RunnableLambda(model)
    return chain.with_alisteners(on_end=save) if awaited else chain.with_listeners(on_end=save)


def test_a_chain_that_loads_and_saves_by_hand_goes_through_the_bridge(memory, styled):
    history = memory.scope(tenant="acme").history("main")
    awaited = styled(history)._runner is not None
    chain = styled(by_hand(memory, history, awaited=awaited))
    for question in ("one", "two"):
        chain.invoke({"question": question})
    assert texts(history.messages) == ["one", "I see 1", "two", "I see 3"]
    assert [type(message) for message in history.messages[:2]] == [HumanMessage, AIMessage]
    assert memory.scope(tenant="acme").threads.get("main").checkpoints == 2
    assert memory.history("main").messages == []


def test_a_listener_that_fails_does_not_end_the_call(memory, caplog):
    chain = by_hand(memory, memory.history("main"), awaited=False, input_key="other")
    with caplog.at_level(logging.WARNING):
        assert chain.invoke({"question": "one"}).text == "I see 1"
    assert "input_key is 'other'" in caplog.text
    assert memory.history("main").messages == []


def test_the_bridge_takes_texts_messages_and_lists(memory, styled):
    history = memory.history("main")
    bridge = styled(history.as_memory("past", "question", "answer"))
    bridge.save_context({"question": "one", "past": [], "k": 3}, {"answer": AIMessage("uno"), "sources": []})
    bridge.save_context({"question": [SystemMessage("brief"), HumanMessage("two")]}, {"answer": "dos"})
    assert texts(bridge.load_memory_variables({"question": "?"})["past"]) == ["one", "uno", "brief", "two", "dos"]
    assert history.as_memory().memory_variables == ["history"]
    bridge.clear()
    assert bridge.load_memory_variables({}) == {"past": []}
    plain = styled(history.as_memory(return_messages=False))
    plain.save_context({"history": "", "input": "three"}, "tres")
    assert plain.load_memory_variables({}) == {"history": "Human: three\nAI: tres"}


def test_the_bridge_says_what_it_can_not_save(memory, styled):
    bridge = styled(memory.history("main").as_memory())
    with pytest.raises(errors.InvalidInputError, match="input_key="):
        bridge.save_context({"a": "one", "b": "two"}, {"output": "x"})
    with pytest.raises(errors.InvalidInputError, match="output_key="):
        bridge.save_context({"a": "one"}, {"x": "x", "y": "y"})
    with pytest.raises(errors.InvalidInputError, match="not dict"):
        bridge.save_context({"a": {"no": "message"}}, "x")
    named = styled(memory.history("main").as_memory(output_key="answer"))
    with pytest.raises(errors.InvalidInputError, match="'answer'"):
        named.save_context({"a": "one"}, {"output": "x"})
    assert memory.threads.get("main") is None


def test_many_wrapped_calls_at_once_lose_nothing(memory):
    keys = {"input_messages_key": "question", "history_messages_key": "history"}
    chain = wrapped(memory, PROMPT | RunnableLambda(model), **keys)

    async def many():
        await asyncio.gather(*(chain.ainvoke({"question": f"a{n}"}, where()) for n in range(8)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: chain.invoke({"question": f"s{n}"}, where()), range(8)))
    asyncio.run(many())
    found = memory.scope(tenant="acme").history("main").messages
    asked = [message.text for message in found if message.type == "human"]
    assert sorted(asked) == sorted([f"a{n}" for n in range(8)] + [f"s{n}" for n in range(8)])
    assert len(found) == 32
