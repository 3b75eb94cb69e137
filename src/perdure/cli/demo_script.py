"""The demo's script: who says what in which thread, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["LANGUAGES", "Language", "Turn", "script"]

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said. The answer must, or must not, hold `word`; `why` says what that shows."""

    thread: str
    user: str
    text: str
    word: str
    known: bool
    why: str


_LINES = {
    "en": ("Hello, my name is Ada. I prefer jasmine tea.", "What is my name?", "What do I prefer to drink?"),
    "zh": ("你好，我叫小雅。我喜欢茉莉花茶。", "我叫什么名字？", "我喜欢什么饮料？"),
}
_WORDS = {"en": ("Ada", "jasmine"), "zh": ("小雅", "茉莉")}


def script(language: Language) -> tuple[list[Turn], list[Turn]]:
    """Return what is said in the first process, and what is asked in the second."""
    told, ask_name, ask_preference = _LINES[language]
    name, preference = _WORDS[language]
    first, other = "user-001", "user-002"
    return [Turn("thread-a", first, told, "", known=True, why="the agent answers, and keeps the preference")], [
        Turn("thread-a", first, ask_name, name, known=True, why="a new process goes on with the thread"),
        Turn("thread-b", first, ask_name, name, known=False, why="another thread has not heard the name"),
        Turn("thread-b", first, ask_preference, preference, known=True, why="the preference is kept for the user"),
        Turn("thread-c", other, ask_preference, preference, known=False, why="another user finds nothing"),
    ]
