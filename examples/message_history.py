"""A plain chain with a message history by tenant, actor and thread, and an agent that goes on with the same thread."""

import warnings

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableFieldSpec, RunnableConfig, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from perdure import History, Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here
from perdure.errors import InvalidIdError

# LangChain's wrapper is deprecated in favour of agents with a checkpointer; chains that have it may keep it.
warnings.filterwarnings("ignore", "RunnableWithMessageHistory is deprecated")

memory = Memory.open("sqlite://", tenants="required")


def history_of(tenant: str, actor: str, thread: str) -> History:
    """Return the history of one thread of one person."""
    return memory.scope(tenant=tenant, subject=actor).history(thread)


def answer(prompt: ChatPromptValue) -> AIMessage:
    """Answer with the number of messages it was given: here a model would stand."""
    return AIMessage(f"I see {len(prompt.messages)}.")


chain = RunnableWithMessageHistory(
    ChatPromptTemplate([MessagesPlaceholder("history"), ("user", "{question}")]) | RunnableLambda(answer),
    history_of,
    input_messages_key="question",
    history_messages_key="history",
    history_factory_config=[ConfigurableFieldSpec(id=name, annotation=str) for name in ("tenant", "actor", "thread")],
)


def ask(tenant: str, actor: str, question: str) -> str:
    """Say something, always in a thread of the same name."""
    config: RunnableConfig = {"configurable": {"tenant": tenant, "actor": actor, "thread": "main"}}
    said = chain.invoke({"question": question}, config).text
    print(f"{tenant:7} {actor:4} {question:18} -> {said}")
    return said


assert ask("acme", "ada", "Hello") == "I see 1."
assert ask("acme", "ada", "Hello again") == "I see 3."
assert ask("globex", "gil", "Hello") == "I see 1."  # the same thread id under another tenant: another history

try:
    ask("acme", "bob", "What did Ada say?")
except InvalidIdError as error:
    print("refused:", error)
else:
    raise AssertionError

adas = history_of("acme", "ada", "main")
adas.add_messages([HumanMessage("My name is Ada."), AIMessage("Noted.")])  # one batch, one transaction
adas.add_messages(adas.messages)  # all of it again: nothing changes
assert len(adas.messages) == 6
assert [thread.turns for thread in memory.scope(tenant="acme").threads.list().threads] == [3]

agent = create_agent(StandInModel(), checkpointer=memory.scope(tenant="acme", subject="ada").checkpointer)
state = agent.invoke({"messages": [("user", "What is my name?")]}, {"configurable": {"thread_id": "main"}})
print("the agent:", state["messages"][-1].text)
assert "Ada" in state["messages"][-1].text  # it knows what the history was told
assert adas.messages == state["messages"]

memory.close()
print("Each tenant, actor and thread had a history of its own, and the agent went on with it.")
