"""`perdure why` on real databases."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from tests.models import RecordingModel

from perdure import Memory
from perdure.middleware import ContextBudget, Ledger


@pytest.fixture
def talked(shared_url):
    with Memory.open(shared_url) as memory:
        parts = [ContextBudget(max_turns=1), Ledger()]
        agent = create_agent(RecordingModel(), middleware=parts, checkpointer=memory.checkpointer)
        for text in ("My name is Ada.", "\x1b[2J What is my name?"):
            agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": "monday"}})
    return shared_url


def test_it_names_the_cause_and_shows_what_the_call_saw(run, talked) -> None:
    found = run("why", "--thread", "monday", "--about", "ada", "--db", talked)
    assert found.code == 0
    assert found.out.startswith("trimmed: Message ")
    for line in ("part      tokens", "turns", "messages seen: 1 of 3, at 2\n", "budget: "):
        assert line in found.out


def test_the_same_as_json(run, talked) -> None:
    data = run("why", "--thread", "monday", "--about", "ada", "--json", "--db", talked).data
    assert data["cause"] == "trimmed"
    assert data["call"]["seen"] == [[2, 2]]
    assert run("why", "--thread", "tuesday", "--json", "--db", talked).data["more"] == {"threads": ["monday"]}


def test_a_step_can_be_named_and_one_that_is_not_there_is_an_error(run, talked) -> None:
    step = run("why", "--thread", "monday", "--json", "--db", talked).data["call"]["step"]
    assert run("why", "--thread", "monday", "--step", step - 3, "--about", "ada", "--db", talked).out.startswith(
        "shown"
    )
    wrong = run("why", "--thread", "monday", "--step", 99, "--db", talked)
    assert wrong.code == 1
    assert str(step) in wrong.err


def test_another_tenant_s_thread_is_not_there(run, talked) -> None:
    assert run("why", "--thread", "monday", "--tenant", "acme", "--db", talked).out.startswith("other_database")


@pytest.mark.parametrize("wrong", ["", "x" * 2001, "a\x00b"])
def test_a_text_that_can_not_be_looked_for_is_refused(run, talked, wrong) -> None:
    assert run("why", "--thread", "monday", "--about", wrong, "--db", talked).code != 0
