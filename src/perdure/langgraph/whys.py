"""Whys: what a model call saw, and why something that was said or stored was not in it."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from perdure.core import ids
from perdure.langgraph.calls import Calls
from perdure.langgraph.evidence import Call, Evidence, holds
from perdure.langgraph.stored import SearchItem
from perdure.model import Said, Why

__all__ = ["why"]

LONGEST = 2000
"""Characters of a text that is asked for."""


def why(calls: Calls, thread_id: str, *, about: str | None = None, step: int | None = None) -> Why:
    """Return what a model call of a thread saw and, of a text, why it was not in it.

    Looks in the order in which memory fails: checkpointer, thread id, database; then trimmed, summarised, removed;
    then stored and not recalled, recalled and not shown. Without a `step` it is the thread's last recorded call.
    """
    thread_id = ids.check(thread_id, "thread_id")
    if about is not None:
        about = ids.check(" ".join(about.split()) if isinstance(about, str) else about, "about", longest=LONGEST)
    evidence = Evidence(calls)
    if evidence.thread(thread_id) is None:
        return _absent(evidence, thread_id, about)
    call = evidence.call(thread_id, step)
    if about is None:
        return _plain(call)
    found = [_said(one, call, about) for one in evidence.said(thread_id, about)]
    found += [_stored(item, call) for item in evidence.items(about)]
    if not found:
        return _nowhere(evidence, thread_id, about, call)
    return min(found, key=lambda one: _ORDER.index(one.cause))


_ORDER = [
    "shown",
    "trimmed",
    "summarised",
    "cleared",
    "filtered",
    "removed",
    "below_cut",
    "no_room",
    "not_recalled",
    "no_ledger",
]


def _answer(cause: str, text: str, call: Call | None = None, **more: object) -> Why:
    return Why(cause, text, None if call is None else dict(call.record), more)


# The thread, or what is wanted, is not in this database


def _absent(evidence: Evidence, thread_id: str, about: str | None) -> Why:
    others = [thread.id for thread in evidence.threads()]
    if not others:
        return _empty(evidence)
    if about is not None and (said := evidence.elsewhere(thread_id, about)):
        return _other_thread(f"There is no thread {thread_id!r}; it was said in {_listed(said)}.", said)
    close = difflib.get_close_matches(thread_id, others, n=3)
    close = [one for one in others if one.casefold() == thread_id.casefold()][:1] or close
    if about is None or close:
        return _other_thread(
            f"There is no thread {thread_id!r} for this tenant; {'close to it' if close else 'the newest'}: "
            f"{_listed(close or others[:3])}.",
            close or others[:3],
        )
    return _other_database(evidence, f"There is no thread {thread_id!r}, and no other thread or item holds this.")


def _empty(evidence: Evidence) -> Why:
    if any(True for _ in evidence.items()):
        return _answer(
            "no_checkpointer",
            "This database holds items and no thread at all: the agent has memory's store and no checkpointer. Pass "
            "create_agent(…, checkpointer=memory.checkpointer).",
        )
    return _other_database(evidence, "This database holds no thread and no item for this tenant.")


def _nowhere(evidence: Evidence, thread_id: str, about: str, call: Call | None) -> Why:
    if channels := evidence.channels(thread_id, about):
        return _answer(
            "no_ledger",
            f"The thread holds it in its state's {_listed(channels)}, not in its messages: what a model saw of that is "
            "not recorded.",
            call,
        )
    if said := evidence.elsewhere(thread_id, about):
        return _other_thread(
            f"It was not said in thread {thread_id!r} but in {_listed(said)}. A thread knows what was said in it; what "
            "every conversation should know belongs into the store.",
            said,
            call,
        )
    return _other_database(evidence, "No thread and no item of this database holds this.", call)


def _other_thread(text: str, threads: list[str], call: Call | None = None) -> Why:
    return _answer("other_thread", f"{text} Pass the same thread_id in every call.", call, threads=threads)


def _other_database(evidence: Evidence, text: str, call: Call | None = None) -> Why:
    said = " ".join([text, *evidence.cut])
    return _answer(
        "other_database",
        f"{said} It was said to an agent with another database or tenant, to one without a checkpointer, or not at "
        "all. Compare memory.url: a relative path leads to another file from another folder.",
        call,
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


# What is wanted was said in the thread


def _plain(call: Call | None) -> Why:
    if call is None:
        return _no_ledger("The thread is here.")
    held = call.record["state"]
    hidden = held - sum(last - first + 1 for first, last in call.record["seen"])
    return _answer("shown", f"The model saw all but {hidden} of the state's {held} messages.", call)


def _no_ledger(text: str) -> Why:
    return _answer("no_ledger", f"{text} What the model saw was not recorded: add Ledger() as the last middleware.")


def _said(one: Said, call: Call | None, about: str) -> Why:
    named = f"Message {one.message.id!r} of {one.at:%Y-%m-%d %H:%M} holds it"
    if call is None:
        return _removed(named) if not one.present else _no_ledger(f"{named}, and is in the state.")
    if call.messages is None:
        return _answer("no_ledger", f"{named}. {_LOST}", call)
    place = call.place(one.message.id)
    if place is None:
        return _removed(named, call)
    if call.saw(place):
        return _seen(named, call, str(one.message.id))
    return _hidden(named, call, place, about)


_LOST = "The checkpoint of that call was pruned, and the messages have changed: what it saw of them can't be told."


def _removed(named: str, call: Call | None = None) -> Why:
    text = f"{named}, but it was not in the state at that call: removed, cleared or replaced; or it came later."
    return _answer("removed", f"{text} The thread's transcript still has it.", call)


def _seen(named: str, call: Call, message_id: str) -> Why:
    how = call.record["changed"].get(message_id)
    if how is None:
        return _answer("shown", f"{named}, and the model saw it: it knew, and answered something else.", call)
    if how == "cleared":
        return _answer("cleared", f"{named}; the model saw a reference in its place, to read with a tool.", call)
    return _answer("filtered", f"{named}; the model saw another text in its place (cut, or changed).", call)


def _hidden(named: str, call: Call, place: int, about: str) -> Why:
    if any(place < note["count"] for note in call.notes("compaction")):
        if call.summary is not None and holds(call.summary.text, about):
            return _answer("shown", f"{named}; the model saw it in the summary.", call)
        return _answer("summarised", f"{named}; a summary stands for it, and leaves it out.", call)
    if budget := next((note for note in call.notes("budget") if note["dropped"]), None):
        limit = f" of {budget['max_tokens']} tokens" if budget["max_tokens"] else ""
        return _answer("trimmed", f"{named}; ContextBudget{limit} left out {budget['dropped']} messages.", call)
    return _answer("filtered", f"{named}; another middleware has left it out of the request.", call)


# What is wanted is in the store


def _stored(item: SearchItem, call: Call | None) -> Why:
    where = f"Item {item.key!r} in {'/'.join(item.namespace)} holds it"
    if item.about.quarantined or item.about.superseded_by:
        state = "quarantined" if item.about.quarantined else f"superseded by {item.about.superseded_by!r}"
        return _answer("not_recalled", f"{where}, and is {state}: no search finds it.", call)
    if call is None:
        return _no_ledger(f"{where}, only in the store.")
    if item.created_at > dt.datetime.fromisoformat(call.record["at"]):
        return _answer("not_recalled", f"{where}, and was stored after that call.", call)
    notes = [*call.notes("recall"), *call.notes("profile")]
    for note in notes:
        if (found := _recalled(where, note, item, call)) is not None:
            return found
    if searched := sorted({"/".join(note["namespace"]) for note in notes if note["part"] == "recall"}):
        return _answer("not_recalled", f"{where}; the search in {', '.join(searched)} did not bring it.", call)
    return _answer(
        "not_recalled", f"{where}, only in the store: nothing puts it before the model. Add Recall or a tool.", call
    )


def _recalled(where: str, note: Mapping[str, Any], item: SearchItem, call: Call) -> Why | None:
    """Return what a part has noted of an item; None if it has noted nothing."""
    namespace, below = tuple(note["namespace"]), item.namespace[len(note["namespace"]) :]
    if (*namespace, *below) != item.namespace:
        return None
    if note["part"] == "profile":
        seen = not below and note["key"] == item.key and "version" in note
        return _answer("shown", f"{where}; the model saw it as its profile.", call) if seen else None
    name = "/".join([*below, item.key])
    shown, low = dict(note["shown"]), dict(note["below"])
    if name in shown:
        return _answer("shown", f"{where}; it was recalled with score {shown[name]}.", call)
    if name in low:
        return _answer("below_cut", f"{where}; it was found with score {low[name]}, below min_score.", call)
    if name in note["no_room"]:
        return _answer("no_room", f"{where}; it was found, and there was no room for it in Recall's max_tokens.", call)
    return None
