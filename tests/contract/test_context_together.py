"""All parts together in one agent: what the model is shown at each call, whole, is what the rules say by hand."""

from __future__ import annotations

from dataclasses import dataclass

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.messages import AIMessage
from tests import talks
from tests.contract.test_compaction import Summarizer
from tests.models import RecordingModel

from perdure.core.conversations import marks, validate
from perdure.middleware import ClearToolResults, Compaction, ContextBudget, Ledger, Profile, Recall

TURNS = 9
TRIGGER, KEPT = 16, 6
CONFIG = {"configurable": {"thread_id": "t"}}
RECORD = "## Confirmed facts\nsome"


@dataclass(frozen=True)
class User:
    user_id: str = "ada"


@tool
def look(at: int) -> str:
    """Look somewhere."""
    return f"seen {at} " * 40


def script():
    """Return what a model says in each turn: two calls at once, one more, an answer; every third turn only that."""
    said = []
    for turn in range(TURNS):
        if turn % 3:
            said.append(AIMessage("", tool_calls=[call(turn, 1), call(turn, 2)]))
            said.append(AIMessage("wait", tool_calls=[call(turn, 3)]))
        said.append(AIMessage(f"answer {turn}"))
    return said


def call(turn, number):
    return {"name": "look", "args": {"at": number}, "id": f"{turn}-{number}"}


def woven():
    """Return a first turn in which two calls are made before the first has its result, as parallel branches do."""
    long = "seen 1 " * 40
    calls = [talks.human("question w"), talks.ai("w1"), talks.ai("w2")]
    return [*calls, talks.result("w1", long), talks.result("w2", long), talks.ai(text="answer w")]


def straight(held):
    """Return what the state holds with the results of the first turn behind their calls."""
    return [*held[:2], held[3], held[2], *held[4:]]


def agent_of(memory, model):
    parts = [
        Profile(("profiles", "{user_id}")),
        Recall(("facts", "{user_id}"), limit=1),
        Compaction(Summarizer(says=lambda _: [RECORD]), trigger=("messages", TRIGGER), keep=("messages", KEPT)),
        ClearToolResults(keep=2, longer_than=100),
        ContextBudget(max_turns=2),
        Ledger(),
    ]
    stores = {"checkpointer": memory.checkpointer, "store": memory.store}
    return create_agent(model, [look], system_prompt="Be brief.", middleware=parts, context_schema=User, **stores)


def remembered(memory):
    memory.store.put(("profiles", "ada"), "profile", {"style": "short"})
    memory.store.put(("facts", "ada"), "harbour", {"text": "The harbour of question 3 opens at nine."})
    memory.store.put(("facts", "bob"), "harbour", {"text": "Nobody's question is this."})


def covered_by_hand(held, covered):
    """Return how many messages the summary stands for that the call is shown, given those of the one before."""
    spared = bool(covered) and held[covered].type != "human"
    beside = 2 + spared  # the profile, what was recalled, and the question of a turn under way
    if beside + bool(covered) + len(held) - covered < TRIGGER:
        return covered
    starts = [at for at in range(covered, len(held)) if held[at].type != "tool"]
    room = min(KEPT, (TRIGGER - beside) / 2)
    return next((at for at in starts if len(held) - at <= room), starts[-1])


def by_hand(held, covered):
    """Return what should be shown of what the state holds, as (kind or type, text or call)."""
    last = max(at for at, message in enumerate(held) if message.type == "human")
    rest = [*range(covered, len(held))]
    if covered and held[covered].type != "human":
        rest.insert(0, max(at for at in range(covered) if held[at].type == "human"))
    turns = [at for at in rest if held[at].type == "human"]
    if len(turns) > 2:
        rest = [at for at in rest if at >= turns[-2]]
    answered = [at for at in range(covered, len(held)) if held[at].type == "tool"]
    shown = [("system", "Be brief."), ("profile", None), *([("summary", None)] if covered else [])]
    for at in rest:
        if at == last:
            shown.append(("memories", None))
        if at in answered[:-2]:
            shown.append(("cleared", held[at].tool_call_id))
        else:
            shown.append((held[at].type, held[at].text))
    return shown


def as_shown(messages):
    return [_one(message) for message in messages]


def _one(message):
    kind = marks.kind_of(message)
    if kind is None:
        return message.type, message.text
    return kind, message.tool_call_id if kind == "cleared" else None


def check(memory, agent, model) -> None:
    state = agent.get_state(CONFIG).values
    messages = state["messages"]
    assert [message.text for message in messages if message.type == "human"] == [
        f"question {at}" for at in ("w", *range(TURNS))
    ]
    assert [len(message.text) for message in messages if message.type == "tool"] == [len("seen 1 " * 40)] * 20
    held = [straight(messages[:at]) for at, message in enumerate(messages) if message.type == "ai" and at > 5]
    counts = [0]
    for before in held:
        counts.append(covered_by_hand(before, counts[-1]))
    assert len(set(counts)) >= 3  # there was none at first, and then several
    notes = [[note for note in record["notes"] if note["part"] == "compaction"] for record in state["context_ledger"]]
    assert [found[0]["count"] if found else 0 for found in notes] == counts[1:]
    assert len(model.seen) == len(held)
    for shown, before, count in zip(model.seen, held, counts[1:], strict=True):
        assert as_shown(shown) == by_hand(before, count)
        assert validate(shown) == []
        assert sum("opens at nine" in message.text for message in shown) == 1
        assert sum("Nobody" in message.text for message in shown) == 0


def test_every_call_of_a_long_conversation_shows_what_the_rules_say(memory, styled) -> None:
    remembered(memory)
    model = RecordingModel(script=script())
    agent = styled(agent_of(memory, model))
    agent.update_state(CONFIG, {"messages": woven()}, as_node="model")
    for turn in range(TURNS):
        agent.invoke({"messages": [("user", f"question {turn}")]}, CONFIG, context=User())
    check(memory, agent, model)


def test_every_call_of_a_streamed_conversation_does_too(memory, styled) -> None:
    remembered(memory)
    model = RecordingModel(script=script())
    agent = styled(agent_of(memory, model))
    agent.update_state(CONFIG, {"messages": woven()}, as_node="model")
    streamed = []
    for turn in range(TURNS):
        asked = {"messages": [("user", f"question {turn}")]}
        streamed += agent.stream(asked, CONFIG, context=User(), stream_mode=["messages", "updates"])
    check(memory, agent, model)
    words = "".join(message.text for mode, event in streamed if mode == "messages" for message in event[:1])
    assert "answer 8" in words
    assert RECORD not in words
    assert "opens at nine" not in words
