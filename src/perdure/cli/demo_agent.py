"""The demo's agent: a model, two tools bound to the user of the run, and a memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models import BaseChatModel

from perdure import errors
from perdure.cli.demo import STAND_IN
from perdure.cli.demo_model import StandInModel
from perdure.memory import Memory

__all__ = ["User", "agent_for", "ask", "model_for", "place_of"]

_PROMPT = (
    "You are a helpful assistant. When the user tells a preference, keep it with the tool `remember`. "
    "When they ask about their preferences, use the tool `recall`. Answer in one short sentence, in their language, "
    "from this conversation and the tools' results only; say that you don't know what neither of them tells."
)


@dataclass(frozen=True, slots=True)
class User:
    """Who a run is for. The program says so, never the model."""

    user_id: str


def place_of(user: str) -> tuple[str, ...]:
    """Return the namespace of a user's preferences."""
    return ("preferences", user)


@tool
def remember(preference: str, runtime: ToolRuntime[User, Any]) -> str:
    """Keep a preference of the user, for every later conversation."""
    store, namespace = _store(runtime)
    store.put(namespace, preference, {"text": preference})
    return "kept"


@tool
def recall(runtime: ToolRuntime[User, Any]) -> str:
    """Return the preferences of the user that were kept; nothing if there are none."""
    store, namespace = _store(runtime)
    return ", ".join(item.value["text"] for item in store.search(namespace))


def _store(runtime: ToolRuntime[User, Any]) -> tuple[Any, tuple[str, ...]]:
    if runtime.context is None or runtime.store is None:
        raise errors.InvalidInputError(
            "this run names no user, so nothing was kept: pass context=User(…) to invoke, and store= to create_agent"
        )
    return runtime.store, place_of(runtime.context.user_id)


def model_for(name: str, base_url: str | None) -> BaseChatModel:
    """Return the stand-in, or the model that a `provider:name` names. Raises ConfigurationError."""
    if name == STAND_IN:
        return StandInModel()
    options: dict[str, Any] = {"timeout": 120.0, "max_retries": 1}
    if base_url is not None:
        options["base_url"] = base_url
    try:
        model: BaseChatModel = init_chat_model(name, **options)
    except ImportError as error:
        package = (getattr(error.__cause__, "name", None) or str(error)).replace("_", "-")
        raise errors.ConfigurationError(
            f"the model {name!r} needs a package that is not installed: pip install {package}"
        ) from error
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise errors.ConfigurationError(
            f"the model {name!r} can't be made ({reason}); write provider:name, such as openai:gpt-5-mini, and put its "
            "key where the provider looks for it, such as OPENAI_API_KEY"
        ) from error
    return model


def agent_for(model: BaseChatModel, memory: Memory) -> Any:
    """Return the agent, with both kinds of memory."""
    return create_agent(
        model,
        [remember, recall],
        system_prompt=_PROMPT,
        context_schema=User,
        checkpointer=memory.checkpointer,
        store=memory.store,
    )


def ask(agent: Any, thread: str, user: str, text: str) -> list[Any]:
    """Say something in a thread for a user; return the messages from it on."""
    config = {"configurable": {"thread_id": thread, "subject_id": user}}
    try:
        messages: list[Any] = agent.invoke({"messages": [("user", text)]}, config, context=User(user))["messages"]
    except errors.PerdureError:
        raise
    except Exception as error:
        raise errors.PerdureError(
            f"the model gave no answer ({type(error).__name__}: {error}); check its name and key, and that its server "
            "can be reached"
        ) from error
    start = max(at for at, message in enumerate(messages) if message.type == "human")
    return messages[start:]
