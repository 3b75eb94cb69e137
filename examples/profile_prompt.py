"""Fixed preferences before the model: how a user wants to be answered, or a default; read by key at each call."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig

from perdure import Memory
from perdure.middleware import Profile

shown: list[BaseMessage] = []


class FakeModel(BaseChatModel):
    """No language model: it keeps what it was shown."""

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        shown[:] = messages
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Very well."))])


memory = Memory.open("sqlite://")
memory.store.put(("profiles", "ada"), "profile", {"style": "one short sentence", "language": "German"})

profile = Profile(
    ("profiles", "{subject_id}"),  # a run's config names its subject; a context would do as well
    default={"style": "friendly", "language": "English"},
    template="Style: {style}. Language: {language}.".format_map,
)
agent = create_agent(FakeModel(), middleware=[profile], checkpointer=memory.checkpointer, store=memory.store)


def ask(subject: str) -> str:
    """Say hello as somebody; return the profile that the model was shown."""
    config: RunnableConfig = {"configurable": {"thread_id": subject, "subject_id": subject}}
    state = agent.invoke({"messages": [("user", "Hello")]}, config)
    print(shown[0].text, end="\n\n")
    assert "Style" not in str(state["messages"])  # for the model's eyes only
    return shown[0].text


assert "Style: one short sentence. Language: German." in ask("ada")
assert "Style: friendly. Language: English." in ask("bob")  # none is stored

memory.store.update(("profiles", "ada"), "profile", lambda value: {**value, "language": "English"})
assert "Style: one short sentence. Language: English." in ask("ada")  # the next call has what is stored now

memory.close()
print("Each call saw the profile of its user as it is stored now, or the default.")
