"""Async: the same memory serves `ainvoke` and `invoke`, and many runs at a time."""

import asyncio
import tempfile
from pathlib import Path

from langchain.agents import create_agent

from perdure import Memory
from perdure.cli.demo_model import StandInModel  # a stand-in for a language model; put your own here


async def main(url: str) -> None:
    """Talk in twenty threads at once."""
    async with Memory.open(url) as memory:
        agent = create_agent(StandInModel(), checkpointer=memory.checkpointer, store=memory.store)

        async def ask(number: int, text: str) -> str:
            config = {"configurable": {"thread_id": f"thread-{number}"}}
            result = await agent.ainvoke({"messages": [("user", text)]}, config)
            return str(result["messages"][-1].text)

        await asyncio.gather(*(ask(number, f"My name is Ada{number}.") for number in range(20)))
        answers = await asyncio.gather(*(ask(number, "What is my name?") for number in range(20)))
        print(answers[0], "…", answers[-1])
        assert answers == [f"Your name is Ada{number}." for number in range(20)]

        page = await memory.threads.alist()
        print("threads:", len(page.threads))
        assert len(page.threads) == 20

        await memory.store.aput(("notes",), "first", {"text": "kept"})
        assert memory.store.get(("notes",), "first").value == {"text": "kept"}  # and in the other style


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(f"sqlite:///{Path(folder) / 'agent.db'}"))
print("Twenty threads talked at once, and each knew its own name.")
