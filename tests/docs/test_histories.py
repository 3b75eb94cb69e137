"""The page about histories names what there is."""

from __future__ import annotations

import re
from pathlib import Path

from langchain_core.chat_history import BaseChatMessageHistory

from perdure.langgraph.histories import History

PAGE = Path(__file__).parents[2] / "docs/reference/histories.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_method_is_named_with_its_async_twin():
    named = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| `.*", TEXT, re.MULTILINE))))
    public = {name for name in vars(History) if not name.startswith("_")} - {"thread_id"}
    assert public <= named
    assert {name for name in vars(BaseChatMessageHistory) if name.startswith("aadd_messages")} <= named
