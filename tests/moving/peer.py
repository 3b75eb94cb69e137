"""LangGraph's own savers and stores, in a process of their own: two SQLite libraries must not share a file."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from datetime import UTC
from pathlib import Path

from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from tests.moving import graphs

from perdure.core.codec import Codec

ROOT = Path(__file__).parents[2]


def ask(action, url, *args):
    """Run an action, or some with commas between them, in a process of its own; return what came of it."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.moving.peer", action, url, *args],
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=240,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def packed(codec, found):
    """Return a state for comparing: the same text for equal values of the same types."""
    configurable = found.config["configurable"]
    parent = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
    checkpoint = {"updated_channels": None, **found.checkpoint}
    values = {name: codec.pack(value).hex() for name, value in sorted(checkpoint.pop("channel_values").items())}
    return {
        "thread": configurable["thread_id"],
        "ns": configurable["checkpoint_ns"],
        "id": configurable["checkpoint_id"],
        "parent": parent,
        "values": values,
        "rest": {name: codec.pack(ordered(value)).hex() for name, value in sorted(checkpoint.items())},
        "metadata": codec.pack(ordered(found.metadata)).hex(),
        "writes": [[task, channel, codec.pack(value).hex()] for task, channel, value in found.pending_writes],
    }


def ordered(value):
    if type(value) is dict:
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(part) for part in value] if type(value) is list else value


def states(saver, threads):
    """Return every state of threads, in the order of their listing."""
    codec = Codec(graphs.TYPES)
    return [packed(codec, found) for name in threads for found in saver.list(graphs.config(name))]


@contextlib.contextmanager
def opened(url):
    serde = JsonPlusSerializer(allowed_msgpack_modules=[(c.__module__, c.__name__) for c in graphs.TYPES])
    if url.startswith("postgres"):
        from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415 - one of the two
        from langgraph.store.postgres import PostgresStore  # noqa: PLC0415

        with PostgresSaver.from_conn_string(url) as saver, PostgresStore.from_conn_string(url) as store:
            saver.serde = serde
            saver.setup()
            store.setup()
            yield saver, store
        return
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415
    from langgraph.store.sqlite import SqliteStore  # noqa: PLC0415

    path = url.removeprefix("sqlite:///")
    with SqliteSaver.from_conn_string(path) as saver, SqliteStore.from_conn_string(path) as store:
        saver.serde = serde
        store.setup()
        yield saver, store


def fill_store(store):
    store.put(("users", "ann", "facts"), "tea", {"likes": "tea", "n": 1, "deep": {"b": [1, 2.5, None, True]}})
    store.put(("users", "ann"), "咖啡", {"likes": "咖啡"}, ttl=60)
    store.put(("x_y", "%"), "k", {"v": "nothing"}, ttl=600)
    store.put(("users", "ann"), "咖啡", {"likes": "茶"}, ttl=90)


def moment(found):
    """Return a time to the second; SQLite's name no zone, and are UTC."""
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).isoformat()[:19]


def items(store):
    found = store.search((), limit=1000)
    return sorted(
        [[list(i.namespace), i.key, i.value, moment(i.created_at), moment(i.updated_at)] for i in found],
        key=str,
    )


def long_thread(saver, count, longest):
    """Put a thread of many checkpoints whose messages grow, by hand: faster than an agent."""
    from langchain_core.messages import AIMessage  # noqa: PLC0415

    where, messages = {"configurable": {"thread_id": "long", "checkpoint_ns": ""}}, []
    for step in range(count):
        messages.append(AIMessage(f"message {step} " + "word " * 30, id=f"m{step}"))
        made = {**empty_checkpoint(), "channel_values": {"messages": messages[-longest:]}}
        made["channel_versions"] = {"messages": f"{step + 1:032}.0"}
        where = saver.put(where, made, {"source": "loop", "step": step, "parents": {}}, dict(made["channel_versions"]))
        saver.put_writes(where, [("messages", messages[-1])], f"task-{step}", "~p")


class Integers(BaseCheckpointSaver):
    """Gives versions as numbers, as savers once did."""

    def __init__(self, saver):
        super().__init__(serde=saver.serde)
        self._saver = saver

    def get_tuple(self, config):
        return self._saver.get_tuple(config)

    def list(self, config, **given):
        return self._saver.list(config, **given)

    def put(self, *given):
        return self._saver.put(*given)

    def put_writes(self, *given):
        return self._saver.put_writes(*given)


def main():
    actions, url, *args = sys.argv[1:]
    with opened(url) as (saver, store):
        answers = [act(action, saver, store, args) for action in actions.split(",")]
        print(json.dumps(answers if len(answers) > 1 else answers[0]))  # noqa: T201 - its answer


def act(action, saver, store, args):
    found = None
    if action == "begin":
        graphs.begin(saver)
        graphs.approval(Integers(saver)).invoke({"seen": ["start"]}, graphs.config("integers"))
        fill_store(store)
    elif action == "long":
        long_thread(saver, int(args[0]), int((*args, "100")[1]))
    elif action == "states":
        found = states(saver, args)
    elif action == "items":
        found = items(store)
    elif action == "more":
        graphs.talk(saver).invoke({"messages": [("human", "more")]}, graphs.config("talk"))
    elif action == "go_on":
        found = graphs.go_on(saver)
    return found


if __name__ == "__main__":
    main()
