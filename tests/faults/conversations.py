"""Conversations whose every state can be told from the writer's name and the number of the step."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage
from tests import support

from perdure import errors


class Conversation:
    """Grows by messages that other writers add too, loses the first one now and then, and changes some.

    `alone`: changes one in place. Readers of one thread in one process may share messages, so others must not.
    """

    def __init__(self, writer, *, alone=False):
        self.writer = writer
        self.alone = alone
        self.n = 0
        self.messages = []

    def step(self):
        n, kind = self.n, (HumanMessage, AIMessage)[self.n % 2]
        # The same in every conversation, so that writers meet at the same entries.
        self.messages.append(kind(f"text {n} " * (1 + n % 9), id=f"m{n}"))
        if n % 3 == 0:
            self.messages.append(kind(f"{self.writer} {n}", id=f"{self.writer} {n}"))
        if n % 5 == 4:
            del self.messages[0]
        if n % 7 == 6:
            last = self.messages[-2]
            self.messages[-2] = type(last)(f"{last.content}, {self.writer}", id=last.id)
        if n % 11 == 10:
            at = len(self.messages) // 2
            if not self.alone:
                self.messages[at] = self.messages[at].model_copy()
            self.messages[at].content += "!"
        self.n += 1
        return {"messages": list(self.messages), "files": {f"f{at}": f"file {at} " * 9 for at in range(n % 45)}}


def seen(values):
    return [(type(m).__name__, m.id, m.content) for m in values["messages"]], values["files"]


class Expectations:
    """What each state looks like, worked out once."""

    def __init__(self):
        self._known = {}

    def of(self, writer, n):
        if (writer, n) not in self._known:
            conversation = Conversation(writer)
            for at in range(n + 1):
                self._known[writer, at] = seen(conversation.step())
        return self._known[writer, n]

    def check(self, found):
        """Compare a stored checkpoint with what was put."""
        writer, n = found.metadata["writer"], found.metadata["step"]
        assert seen(found.checkpoint["channel_values"]) == self.of(writer, n), f"{writer}, step {n}"
        return writer, n, found.checkpoint["id"]


def put_step(saver, where, conversation):
    n = conversation.n
    versions = {"messages": f"{n + 1:032}.{hash(conversation.writer) % 10**8:08}", "files": n + 1}
    return support.put(saver, where, conversation.step(), versions=versions, writer=conversation.writer, step=n)


def keep_talking(memory, thread, writer, steps, *, alone=False):
    """Put the steps of a conversation, reading what is there now and then; yield the config of each."""
    saver, expectations = memory.checkpointer, Expectations()
    conversation, where = Conversation(writer, alone=alone), support.config(thread)
    for n in range(steps):
        try:
            where = put_step(saver, where, conversation)
        except errors.FencedError:
            # Deleted or pruned under us: begin again, as a new run would.
            saver.get_tuple(support.config(thread))
            conversation, where = Conversation(writer, alone=alone), support.config(thread)
            continue
        yield where
        if n % 4 == 0:
            found = saver.get_tuple(support.config(thread))
            if found is not None:
                expectations.check(found)
        if n % 6 == 5:
            found = saver.get_tuple(where)
            if found is not None:
                expectations.check(found)
                # A run goes on with the objects that it has read.
                conversation.messages = list(found.checkpoint["channel_values"]["messages"])
