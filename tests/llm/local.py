"""The adapter: a local model as LangChain knows one, and its tool calls as messages have them.

A small model answers with a tool call as plain text: ``{"name": …, "arguments": {…}}``, in a code block or after some
words. Here such a text becomes the `tool_calls` of the message. It also calls the same tool again and again, so tools
are offered once a turn: to what follows a tool's result they are not.
"""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import httpx
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI

_START = re.compile(r"\{\s*\"name\"")


class Local(ChatOpenAI):
    """A chat model at a loopback address: always the likeliest answer, no key, and no way round by a proxy."""

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **given: Any) -> ChatResult:
        messages, given = _told(messages, given)
        return _called(super()._generate(messages, stop, run_manager, **given), given.get("tools"))

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **given: Any) -> ChatResult:
        messages, given = _told(messages, given)
        return _called(await super()._agenerate(messages, stop, run_manager, **given), given.get("tools"))


def model(address: str, *, most: int = 120, **more: Any) -> Local:
    """Return the model behind an address. `most`: tokens of an answer."""
    return Local(
        model="local",
        base_url=f"{address}/v1",
        api_key="none",
        temperature=0,
        seed=1,
        max_tokens=most,
        max_retries=0,
        timeout=300,
        disable_streaming="tool_calling",
        http_client=httpx.Client(trust_env=False),
        http_async_client=httpx.AsyncClient(trust_env=False),
        **more,
    )


def _told(messages: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return what the model is asked: the results of tools in words, and no tools right after one."""
    told = [_in_words(message) for message in messages if not getattr(message, "tool_calls", None)]
    if messages and messages[-1].type == "tool":
        given = {name: value for name, value in given.items() if name not in {"tools", "tool_choice"}}
        told.append(next(message for message in reversed(messages) if message.type == "human"))
    return told, given


def _in_words(message: Any) -> Any:
    if message.type != "tool":
        return message
    return HumanMessage(f"(The tool {message.name} answered: {message.text})")


def _called(result: ChatResult, tools: Any) -> ChatResult:
    names = {tool["function"]["name"] for tool in tools or ()}
    return ChatResult(
        generations=[ChatGeneration(message=_with_calls(one.message, names)) for one in result.generations],
        llm_output=result.llm_output,
    )


def _with_calls(message: Any, names: set[str]) -> Any:
    if not isinstance(message, AIMessage) or message.tool_calls or not names:
        return message
    text = message.text
    calls = calls_in(text, names)
    if not calls:
        return message
    return message.model_copy(update={"content": "", "tool_calls": calls})


def calls_in(text: str, names: set[str]) -> list[dict[str, Any]]:
    """Return the calls of tools of these names that a text holds, in their order."""
    calls, decoder, at = [], json.JSONDecoder(strict=False), 0
    while found := _START.search(text, at):
        at = found.end()
        try:
            value, at = decoder.raw_decode(text, found.start())
        except ValueError:
            continue
        given = value.get("arguments", value.get("parameters"))
        if isinstance(value["name"], str) and value["name"] in names and isinstance(given, dict):
            calls.append({"name": value["name"], "args": given, "id": uuid.uuid4().hex[:9], "type": "tool_call"})
    return calls
