"""The demo's three steps. Each runs in a process of its own, and checks what it shows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from perdure import errors
from perdure.cli import conversation, demo_agent, demo_script, diffs, items, output, states, threads, totals
from perdure.cli.output import Line
from perdure.cli.values import compact, plain
from perdure.langgraph.calls import Calls
from perdure.memory import Memory

__all__ = ["Plan", "Stage", "begin", "play"]

_TITLES = {1: "a user says a name and a preference", 2: "a new process asks for both", 3: "what is stored"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What the demo is run with."""

    model: str
    base_url: str | None
    language: demo_script.Language


@dataclass(slots=True)
class Stage:
    """What a step has shown so far, for people and for programs."""

    data: dict[str, Any]
    lines: list[Line] = field(default_factory=list)


def begin(step: int) -> Stage:
    """Return the stage on which a step is to be played."""
    title = f"Step {step} of 3, process {os.getpid()}: {_TITLES[step]}"
    return Stage({"step": step, "pid": os.getpid()}, [title])


def play(stage: Stage, plan: Plan, memory: Memory, calls: Calls) -> None:
    """Play a step. Raises PerdureError where something is not as it must be."""
    step = stage.data["step"]
    if step == 3:
        _show(stage, memory, calls)
        return
    _talk(stage, plan, memory, demo_script.script(plan.language)[step - 1])
    if step == 1:
        _check_kept(stage, plan, memory)


def _talk(stage: Stage, plan: Plan, memory: Memory, turns: list[demo_script.Turn]) -> None:
    agent = demo_agent.agent_for(demo_agent.model_for(plan.model, plan.base_url), memory)
    stage.data["turns"] = []
    for turn in turns:
        messages = demo_agent.ask(agent, turn.thread, turn.user, turn.text)
        stage.lines += ["", f"  {turn.user} in {turn.thread}", *conversation.transcript(messages, indent="    ")]
        shown = {"thread": turn.thread, "user": turn.user, "messages": [plain(m) for m in messages], "shows": turn.why}
        stage.data["turns"].append(shown)
        _check_answer(turn, messages[-1].text)
        stage.lines.append(f"    ✓ {turn.why}")


def _check_answer(turn: demo_script.Turn, answer: str) -> None:
    told = turn.word.lower() in answer.lower()
    if not answer or told is not turn.known:
        must = "must" if turn.known else "must not"
        what = f"hold {turn.word!r}" if turn.word else "not be empty"
        raise errors.PerdureError(
            f"the answer to {turn.user} in {turn.thread} {must} {what}, because {turn.why}; it was {answer!r}"
        )


def _check_kept(stage: Stage, plan: Plan, memory: Memory) -> None:
    turn = demo_script.script(plan.language)[1][2]
    found = memory.store.search(demo_agent.place_of(turn.user))
    if not any(turn.word.lower() in str(item.value).lower() for item in found):
        raise errors.PerdureError(
            f"the preference of {turn.user} must be in the store now, under {demo_agent.place_of(turn.user)}; "
            f"there are {len(found)} items, none with {turn.word!r}. Did the model call the tool `remember`?"
        )
    stage.data["kept"] = [plain(item.value) for item in found]


def _show(stage: Stage, memory: Memory, calls: Calls) -> None:
    parts: dict[str, Callable[[Memory, Calls], tuple[Any, list[Line]]]] = {
        "threads": _threads,
        "items": _items,
        "totals": _totals,
        "diff": _diff,
    }
    for name, part in parts.items():
        stage.data[name], lines = part(memory, calls)
        stage.lines += ["", *[f"  {line}" for line in lines]]


def _threads(memory: Memory, _: Calls) -> tuple[Any, list[Line]]:
    found = memory.threads.list().threads
    if not found:
        raise errors.PerdureError("the threads of the first two steps must be stored, and there are none")
    rows = [[t.id, t.subject, t.turns, t.checkpoints, output.size(t.bytes), t.title] for t in found]
    head = ["thread", "subject", "turns", "checkpoints", "size", "title"]
    return [threads.described(thread) for thread in found], output.table(head, rows)


def _items(memory: Memory, _: Calls) -> tuple[Any, list[Line]]:
    found = memory.store.search((), refresh_ttl=False)
    rows = [["/".join(item.namespace), item.key, compact(plain(item.value))] for item in found]
    return list(map(items.described, found)), output.table(["namespace", "key", "value"], rows)


def _totals(_: Memory, calls: Calls) -> tuple[Any, list[Line]]:
    found = totals.of_tenant(calls)
    return found, [
        f"{found['threads']} threads, {found['items']} items; the database has {output.size(found['database_bytes'])}"
    ]


def _diff(memory: Memory, _: Calls) -> tuple[Any, list[Line]]:
    before, after = (states.find(memory, "thread-a", name=name) for name in ("-2", "-1"))
    changes = list(diffs.between(states.channels(before), states.channels(after)))
    if not changes:
        raise errors.PerdureError("the last step of thread-a must have changed its messages, and nothing differs")
    return [change.plain() for change in changes], ["what the last step of thread-a changed:", *diffs.lines(changes)]
