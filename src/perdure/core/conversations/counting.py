"""Counting tokens without a model's own tokenizer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

__all__ = ["Counter", "approximate"]

Counter = Callable[[Sequence[BaseMessage]], int]
"""Returns the tokens of messages, as LangChain's token counters do."""

_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U0001f000-\U0003ffff]+")


def approximate(messages: Sequence[BaseMessage]) -> int:
    """Return about how many tokens messages take: LangChain's approximation, and one for each wide character.

    `count_tokens_approximately` takes four characters for a token in every script; of Chinese, Japanese and Korean
    text it sees a quarter of what tokenizers make of it.
    """
    wide = sum(len("".join(_WIDE.findall(text))) for text in map(_text, messages) if not text.isascii())
    return count_tokens_approximately(messages) + wide * 3 // 4


def _text(message: BaseMessage) -> str:
    return message.content if isinstance(message.content, str) else str(message.text)
