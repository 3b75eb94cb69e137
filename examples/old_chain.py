"""A chain that loads what was said before each call and saves it after, by hand, on a bridge to a thread.

For chains that are there. A new application uses an agent with a checkpointer, which keeps each step itself.
"""

from operator import itemgetter

from langchain_core.messages import AIMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from perdure import Memory


def answer(prompt: ChatPromptValue) -> AIMessage:
    """Answer with the number of messages it was given: here a model would stand."""
    return AIMessage(f"I see {len(prompt.messages)}.")


memory = Memory.open("sqlite://")
old = memory.history("old-chain").as_memory(memory_key="history", input_key="question")
prompt = ChatPromptTemplate([MessagesPlaceholder("history"), ("user", "{question}")])

chain = (
    RunnablePassthrough.assign(history=RunnableLambda(old.load_memory_variables) | itemgetter("history"))
    | prompt
    | RunnableLambda(answer)
).with_listeners(on_end=lambda run: old.save_context(run.inputs, run.outputs))

for question, expected in [("Hello", "I see 1."), ("Hello again", "I see 3."), ("And again", "I see 5.")]:
    said = chain.invoke({"question": question}).text
    print(f"{question:12} -> {said}")
    assert said == expected

found = memory.history("old-chain")
assert [message.type for message in found.messages] == ["human", "ai"] * 3
thread = memory.threads.get("old-chain")
assert thread is not None
assert (thread.turns, thread.title) == (3, "Hello")  # a thread as any other

text = found.as_memory(return_messages=False).load_memory_variables({})["history"]  # for prompts that are one text
print(text)
assert text.startswith("Human: Hello\nAI: I see 1.\n")

old.clear()
assert old.load_memory_variables({}) == {"history": []}
assert len(found.transcript()) == 6  # what was said is still told

memory.close()
print("The old chain remembered, and its thread is one like any other.")
