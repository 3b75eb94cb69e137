"""Terms: what a text is found by, in scripts with spaces between words and in scripts without.

A text is read letter by letter, never as a query language. Upper case, width and accents are folded away, as FTS5's
`unicode61` does; vowel signs that carry meaning stay. Words lose the endings of English inflection. Where a script
writes no spaces, each character is a term, and so is each pair of neighbours (Kwok 1997).
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
import unicodedata
from collections.abc import Sequence
from typing import Final

__all__ = ["query", "terms"]

_LONGEST: Final = 64  # letters of a term; what is longer is cut into several
_LONGEST_QUERY: Final = 10_000  # characters of a query that are read
_MOST: Final = 64  # terms of a query

_VOWELS: Final = frozenset("aeiouy")

# Thai, Lao, Burmese, Khmer; kana, bopomofo, ideographs, hangul; the ideographs beyond the first plane.
_BLOCKS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3005-\u3007"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED: Final = re.compile(f"[{_BLOCKS}]")
_RUNS: Final = re.compile(rf"[{_BLOCKS}]+|[^\s{_BLOCKS}]{{1,{_LONGEST}}}")
_PLAIN: Final = re.compile(rf"[a-z0-9]{{1,{_LONGEST}}}")
# Only these are written in parts and must meet again: composing a whole text is quadratic in a row of marks.
_SIGNS: Final = (  # what composes with the character before it and is no accent
    "\u093c\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0c56\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dca\u0dcf\u0ddf\u102e\u1b35"
    "\u3099\u309a\U000110ba\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af\U00011930"
)
_PARTS: Final = re.compile(f"[\u1100-\u11ff]+|.[{_SIGNS}]{{1,2}}")

_FUNCTION_CHARACTERS: Final = frozenset("的了着吗呢吧啊么是在有和与也都就我你您他她它们这那哪什怎谁几多少个为何时候里")
_FUNCTION: Final = (
    "a an the this that these those some any each every both few more most other such same own",
    "i me my myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers",
    "herself it its itself they them their theirs themselves what which who whom whose when where why how much many",
    "am is are was were be been being have has had having do does did doing done",
    "can could will would shall should may might must",
    "and or but nor so if because as until while than though of at by for with about against between into through",
    "during before after above below to from up down in out on off over under again further then once here there",
    "all no not only just too very now ever also",
    "s t d m ll re ve don didn doesn isn wasn aren weren won",
)


class _Fold(dict[int, str]):
    """What `str.translate` makes of each character; filled as characters are met."""

    def __missing__(self, point: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(point).casefold())
        kept = "".join(_letter(part) for part in parts)
        folded = unicodedata.normalize("NFC", kept)
        self[point] = folded
        return folded


def _letter(part: str) -> str:
    if part.isalnum():
        return part
    if not unicodedata.category(part).startswith("M"):
        return " "
    order = unicodedata.combining(part)
    # Accents and the points of Hebrew and Arabic; signs of other scripts are letters to their readers.
    accent = order == 1 or 10 <= order <= 35 or order >= 200
    return "" if accent else part


_FOLD: Final = _Fold()


@functools.lru_cache(maxsize=32_768)
def _stem(word: str) -> str:
    """Return what English inflections of a word share: a light form of Porter's first step (1980)."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    stem = _uninflected(_singular(word)) if len(word) > 3 else word
    if stem.endswith("ly") and len(stem) > 5:
        stem = stem[:-2]
    if stem.endswith("e") and len(stem) > 3:
        stem = stem[:-1]
    return stem[:-1] + "i" if stem.endswith("y") and len(stem) > 2 else stem


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word if not word.endswith("s") or word.endswith(("ss", "us")) else word[:-1]


def _uninflected(word: str) -> str:
    ending = "ing" if word.endswith("ing") else "ed" if word.endswith("ed") and not word.endswith("eed") else ""
    rest = word.removesuffix(ending)
    if rest == word or len(rest) < 2 or _VOWELS.isdisjoint(rest):
        return word
    if len(rest) == 2:
        return rest if rest[1] in "eo" else rest + "e"  # going, but using and tied
    doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "aeioulsz"
    return rest[:-1] if doubled else rest


_FUNCTION_WORDS: Final = frozenset(_stem(word) for line in _FUNCTION for word in line.split())


def terms(text: str) -> list[str]:
    """Return the terms of a text in their order, repeated as often as they stand there."""
    if text.isascii():
        return list(map(_stem, _PLAIN.findall(text.lower())))
    folded = _PARTS.sub(_compose, text.translate(_FOLD))
    return list(itertools.chain.from_iterable(map(_run, _RUNS.findall(folded))))


def query(text: str) -> list[str]:
    """Return the terms to look for, each once, the first 64 of them.

    Words that only hold a question together are left out, unless there are no others.
    """
    found = dict.fromkeys(terms(text[:_LONGEST_QUERY]))
    wanted = [term for term in found if not _is_function(term)]
    return (wanted or list(found))[:_MOST]


def _compose(parts: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", parts[0])


def _run(run: str) -> Sequence[str]:
    if not _UNSPACED.match(run):
        return (_stem(run),)
    return [*run, *map(operator.add, run, run[1:])]


def _is_function(term: str) -> bool:
    return term in _FUNCTION_WORDS or _FUNCTION_CHARACTERS.issuperset(term)
