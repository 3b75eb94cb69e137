"""Forms: what a model may fill in. Whatever else it sends is refused, and said to it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from perdure.engine import drive
from perdure.langgraph.reaching import Awaited, Direct
from perdure.langgraph.store import Store

__all__ = ["ById", "Change", "Form", "Question", "Runtime", "Text", "tool"]

Runtime = ToolRuntime[Any, Any]
Flow = Callable[..., Coroutine[Any, Any, str]]


class Form(BaseModel):
    """What a tool is called with. The runtime is LangGraph's to set: a model's is thrown away."""

    model_config = ConfigDict(extra="forbid")
    runtime: Annotated[Any, InjectedToolArg, Field(exclude=True)]


class Text(Form):
    """A text to remember."""

    text: str = Field(description="One fact or preference, as a sentence that is clear by itself.")


class Question(Form):
    """What to look up."""

    query: str = Field(description="What to look up, in a few words or as a question.")


class ById(Form):
    """One memory."""

    id: str = Field(description="The key of the memory, as it was shown.")


class Change(ById):
    """One memory, and what it is to say."""

    text: str = Field(description="What the memory says from now on, as a whole.")


def tool(name: str, description: str, form: type[Form], flow: Flow, store: Store) -> BaseTool:
    """Return a tool whose flow is given a way to reach the store, the runtime, and what the model has filled in."""

    def call(runtime: Runtime, **given: Any) -> str:
        return drive(flow(Direct(store), runtime, **given))

    async def acall(runtime: Runtime, **given: Any) -> str:
        return await flow(Awaited(store), runtime, **given)

    return StructuredTool(
        name=name, description=description, args_schema=form, func=call, coroutine=acall, handle_tool_error=True
    )
