"""Whatever a conversation was, what reaches the model is one that every provider takes."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents.middleware import ModelRequest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage, SystemMessage, trim_messages
from tests import talks

from perdure.core import conversations
from perdure.core.conversations import approximate, marks, repair, split, summaries, validate
from perdure.middleware import ClearToolResults, Compaction, ContextBudget
from perdure.middleware.shaping import Shaping

CONVERSATIONS = 10_000
MODEL = FakeListChatModel(responses=["no model"])  # a fake: nothing here asks it

CLEARING = [ClearToolResults(keep=keep, longer_than=longer) for keep in range(4) for longer in (0, 100)]


def request_of(messages, **state) -> ModelRequest:
    runtime = SimpleNamespace(context=None, store=None, stream_writer=lambda _: None)
    return ModelRequest(
        model=MODEL, messages=list(messages), state={"messages": list(messages), **state}, runtime=runtime
    )


def budgets(rng: random.Random) -> list[Shaping]:
    tokens = rng.choice((1, 20, 100, 500, 3000))
    return [
        ContextBudget(tokens),
        ContextBudget(tokens, oversize="cut"),
        ContextBudget(max_turns=rng.randint(1, 4)),
        ContextBudget(tokens, keep=lambda groups: rng.sample(groups, rng.randint(0, len(groups)))),
        ContextBudget(rng.randint(1, 12), token_counter=len),
        rng.choice(CLEARING),
    ]


def written_down(messages) -> list:
    """Return what tells whether a message was changed in place."""
    return [(id(message), repr(message.__dict__)) for message in messages]


def lost_in_silence(before, after, told: list) -> bool:
    """Whether a human message that is not shown was not told of either."""
    shown = {id(message) for message in after}
    lost = [one for one in before if conversations.role(one) == "human" and id(one) not in shown]
    return bool(lost) and not told


def shaped(part: Shaping, messages):
    """Return what a part makes of a request, and what it tells."""
    told: list = []
    request = request_of(messages)
    request.runtime.stream_writer = told.append
    return part.shaped(request), told


def test_no_part_ever_sends_an_invalid_conversation_or_loses_a_human_turn_in_silence() -> None:
    for seed in range(CONVERSATIONS):
        rng = random.Random(seed)
        messages = talks.broken(rng) if seed % 2 else talks.drawn(rng)
        kept = written_down(messages)
        for part in budgets(rng):
            request, told = shaped(part, messages)
            assert validate(request.messages) == [], seed
            assert not lost_in_silence(messages, request.messages, told), seed
            assert request.state["messages"] == messages, seed
        assert written_down(messages) == kept, seed


def test_a_summary_in_place_of_any_beginning_leaves_a_valid_conversation() -> None:
    part = Compaction(MODEL, trigger=("messages", 10**6))
    for seed in range(CONVERSATIONS):
        rng = random.Random(seed)
        messages = talks.broken(rng) if seed % 2 else talks.drawn(rng)
        if not messages:
            continue
        covered = messages[: rng.randint(1, len(messages))]
        more = {"text": "so far", "sources": [], "tokens": 3, "replaced_tokens": 9, "model": "m", "made_at": ""}
        summary = summaries.Summary(**summaries.covering(covered), **more)
        asked: list = []
        part.wrap_model_call(request_of(messages, compaction=summary.plain()), asked.append)
        (request,) = asked
        assert validate(request.messages) == [], seed
        unseen = {id(one) for one in messages[summary.count :]} - {id(one) for one in request.messages}
        assert not [one for one in messages[summary.count :] if id(one) in unseen and one.type == "human"], seed
        assert any(marks.kind_of(message) == "summary" for message in request.messages), seed


def test_trimming_with_langchain_s_own_function_sends_invalid_ones() -> None:
    """A control: the same inputs, `trim_messages` as its documentation uses it in place of a budget."""
    wrong = 0
    for seed in range(0, 2000, 2):
        messages = talks.drawn(random.Random(seed))
        trimmed = trim_messages(
            messages, max_tokens=100, token_counter=approximate, strategy="last", include_system=True
        )
        wrong += bool(validate(trimmed)) or not trimmed
    assert wrong > 100


def test_a_part_that_forgets_to_tell_is_noticed() -> None:
    """A control of the test above: a budget that drops a human turn and says nothing."""

    class Silent(ContextBudget):
        def shaped(self, request):
            return request.override(messages=request.messages[-1:])

    messages = [HumanMessage("one"), HumanMessage("two")]
    request, told = shaped(Silent(), messages)
    assert lost_in_silence(messages, request.messages, told)


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(0, 4000), turns=st.integers(1, 9))
def test_a_budget_keeps_the_end_and_names_what_it_drops(seed, size, turns) -> None:
    messages = talks.drawn(random.Random(seed), turns=9)
    fitted = conversations.fit(messages, conversations.Budget(max(size, 1), turns))
    shown = {id(message) for message in fitted.messages}
    assert {id(message) for message in fitted.dropped} == {id(message) for message in messages} - shown
    assert fitted.over == (fitted.tokens > max(size, 1))
    assert fitted.tokens == approximate(fitted.messages)
    found = split(messages)
    if found.turns:
        assert {id(message) for message in (*found.head, *found.turns[-1].opening)} <= shown
        assert len(split(fitted.messages).turns) <= turns


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_repaired_conversation_is_repaired_for_good(seed) -> None:
    once = repair(talks.broken(random.Random(seed), turns=9))
    assert validate(once) == []
    assert all(one is other for one, other in zip(repair(once), once, strict=True))
    assert split(once).messages == once


@pytest.mark.parametrize("tokens", [1, 50])
def test_the_system_prompt_and_tools_count(tokens) -> None:
    request = request_of([HumanMessage("h"), *[HumanMessage("h " * 20) for _ in range(9)]])
    plain = ContextBudget(200).shaped(request).messages
    prompted = ContextBudget(200).shaped(request.override(system_message=SystemMessage("word " * 60))).messages
    tooled = ContextBudget(200).shaped(request.override(tools=[{"name": "look", "description": "word " * 60}])).messages
    assert len(plain) > len(prompted) > 0
    assert len(plain) > len(tooled) > 0
