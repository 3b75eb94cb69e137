"""The page about search says what the code does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from perdure import Memory
from perdure.core import filters
from perdure.core.codec import Codec
from perdure.core.search import embeddings, ranks, scores, shelves, texts, words
from perdure.langgraph import indexing, searching
from perdure.langgraph.local import LocalEmbeddings

PAGE = (Path(__file__).parents[2] / "docs/reference/search.md").read_text(encoding="utf-8")


def table(heading):
    """Return the cells of the table that has a heading."""
    lines = PAGE[PAGE.index(f"| {heading} |") :].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]


def names(heading):
    return [row[0].strip("`") for row in table(heading)]


def test_every_key_of_the_index_is_named():
    assert sorted(names("key")) == sorted(indexing._KEYS)
    assert f"{LocalEmbeddings.dims}" in PAGE
    assert LocalEmbeddings.model in PAGE


def test_every_option_of_a_search_is_named_with_its_default():
    assert sorted(names("option")) == sorted(searching.SearchOptions.__annotations__)
    assert [name.strip('"') for name in names("`mode`")] == ["text", "vector", "hybrid"]
    assert set(scores.Mode) == {"text", "vector", "hybrid"}
    assert set(scores.Fusion) == {"scores", "ranks"}
    with Memory.open("sqlite://") as memory:
        memory.store.put(("n",), "k", {"text": "tea"})
        plain = memory.store.search(("n",), query="tea")
        given = {row[0].strip("`"): ast.literal_eval(row[1].strip("`")) for row in table("option") if "`" in row[1]}
        assert memory.store.search(("n",), query="tea", min_score=None, weights=None, **given) == plain


@pytest.mark.parametrize("row", table("the item's value"), ids=lambda row: f"{row[0]} {row[1]}")
def test_an_item_gives_the_texts_that_the_page_says(row):
    value, paths, found = (ast.literal_eval(cell.strip("`")) for cell in row)
    assert texts.of(filters.write(value, Codec(), {}), None, paths) == found


def test_the_numbers_are_those_of_the_code():
    assert f"{ranks.WORDS} × *words* + {1 - ranks.WORDS} × *closeness*" in PAGE
    assert f"first {words._MOST} terms in the first {words._LONGEST_QUERY:,} characters" in PAGE
    assert f"more than {searching._LONGEST:,} characters" in PAGE
    assert f"halves every {scores.HALF_LIFE // 86_400_000_000} days" in PAGE
    assert (shelves.Shelves().limit, "up to 1 GiB" in PAGE) == (1 << 30, True)
    assert texts.WHOLE == ("$",)
    assert sum(map(len, embeddings.ABOUT_THIS_AND_THAT)) > 10


def test_every_part_of_an_explanation_is_named():
    parts = re.findall(r"`(\w+)`", next(row for row in table("option") if row[0] == "`explain`")[2])
    assert sorted({*parts} - {"explanation"}) == sorted(set(scores.Explanation.__dataclass_fields__) - {"score"})
