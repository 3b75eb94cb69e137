"""A stand-in for a language model, so that the demo and the examples need no key and no network."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

__all__ = ["StandInModel"]

_NAME: Final = re.compile(r"\bmy name is (\w[\w'-]*)|我叫(?!什么)(\w+)|我的名字(?:是|叫)(?!什么)(\w+)", re.IGNORECASE)
_PREFERENCE: Final = re.compile(
    r"\bI (?:really )?(?:prefer|like|love) ([^.!?<\n]+)|我(?:更|最)?(?:喜欢|偏好)(?!什么)([^。！？，<\n]+)",
    re.IGNORECASE,
)
_ASKS_NAME: Final = re.compile(r"what(?:'s| is) my name|who am i|我叫什么|我的名字(?:是|叫)什么|我是谁", re.IGNORECASE)
_ASKS_PREFERENCE: Final = re.compile(
    r"what do i (?:prefer|like|love)|what is my preference|我(?:更|最)?(?:喜欢|偏好)什么", re.IGNORECASE
)
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]")


class StandInModel(BaseChatModel):
    """A stand-in for a language model: it answers by a few rules, in English and Chinese.

    It knows nothing but the messages and tools it is given. It finds "my name is …" and "I prefer …" in what the
    person said in these messages, calls a tool named `remember` when a preference is told and one named `recall`
    when a preference is asked for, and answers "I don't know" otherwise. To an argument named `text` it gives the
    whole sentence.
    """

    tools: dict[str, str | None] = Field(default_factory=dict)
    """By the name of each tool that of its first argument."""

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,  # noqa: ARG002 - the rules choose
        **kwargs: Any,  # noqa: ARG002 - what other models understand
    ) -> Self:
        functions = [convert_to_openai_tool(tool)["function"] for tool in tools]
        first = {one["name"]: next(iter(one.get("parameters", {}).get("properties", {})), None) for one in functions}
        return self.model_copy(update={"tools": first})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - answers are one sentence
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - nothing happens meanwhile
        **kwargs: Any,  # noqa: ARG002 - what other models understand
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_answer(messages, self.tools))])


def _answer(messages: Sequence[BaseMessage], tools: Mapping[str, str | None]) -> AIMessage:
    said = [message.text for message in messages if isinstance(message, HumanMessage)]
    last = said[-1] if said else ""
    told, asked = _found(_PREFERENCE, [last]), _ASKS_PREFERENCE.search(last)
    results = _results(messages)
    if asked and "recall" in tools and not results:
        return _call("recall", tools, last, messages)
    if told and not asked and "remember" in tools and not results:
        return _call("remember", tools, last if tools["remember"] == "text" else told, messages)
    return AIMessage(" ".join(_sentences(said, last, results)))


def _sentences(said: Sequence[str], last: str, results: Sequence[ToolMessage]) -> list[str]:
    chinese = _CHINESE.search(last) is not None
    name, told = _found(_NAME, [last]), _found(_PREFERENCE, [last])
    if _ASKS_NAME.search(last):
        return [_about_name(_found(_NAME, said), chinese=chinese)]
    if _ASKS_PREFERENCE.search(last):
        return [_about_preference(_recalled(results) or _found(_PREFERENCE, said[:-1]), chinese=chinese)]
    greeting = [f"你好，{name}。" if chinese else f"Hello, {name}."] if name else []
    noted = [f"记下了：{told}。" if chinese else f"Noted: {told}."] if told else []
    return greeting + noted or ["我不知道。" if chinese else "I don't know."]


def _about_name(name: str, *, chinese: bool) -> str:
    if not name:
        return "我不知道你的名字。" if chinese else "I don't know your name."
    return f"你叫{name}。" if chinese else f"Your name is {name}."


def _about_preference(preference: str, *, chinese: bool) -> str:
    if not preference:
        return "我不知道你喜欢什么。" if chinese else "I don't know what you prefer."
    return f"你喜欢{preference}。" if chinese else f"You prefer {preference}."


def _found(pattern: re.Pattern[str], said: Sequence[str]) -> str:
    """Return what was said last that fits; an empty text if nothing does."""
    for text in reversed(said):
        if match := pattern.search(text):
            return next(group for group in match.groups() if group).strip()
    return ""


def _recalled(results: Sequence[ToolMessage]) -> str:
    """Return the preference that a tool has found: in what it answered, or all of it if that is plain text."""
    text = results[-1].text if results else ""
    return _found(_PREFERENCE, [text]) or ("" if "<" in text else text)


def _results(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    """Return what tools have answered since the person last spoke."""
    found: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, ToolMessage):
            found.insert(0, message)
    return found


def _call(name: str, tools: Mapping[str, str | None], said: str, messages: Sequence[BaseMessage]) -> AIMessage:
    first = tools[name]
    args = {} if first is None else {first: said}
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{len(messages)}", "type": "tool_call"}])
