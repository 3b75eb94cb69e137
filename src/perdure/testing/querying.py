"""Searches with a query: by meaning, of what is there now, and of nobody else's."""

from __future__ import annotations

import pytest
from langgraph.store.base import PutOp

from perdure.testing.embedding import TopicEmbeddings
from perdure.testing.opening import Called, Style
from perdure.testing.setting import Opened, Setting, index, keys, needs

__all__ = ["Querying"]

HOSTILE = ("NEAR(", '"', "*", "col:", "a AND", "a OR NOT b", "((((", "'; --", "-", "^a", "x" * 100_000)


class Querying(Setting):
    """Queries, with an index and without."""

    @needs("query")
    def test_what_is_meant_is_found_without_a_common_word(self, indexed: Called) -> None:
        indexed.put(("en",), "job", {"text": "I am a plumber"})
        indexed.put(("en",), "food", {"text": "I love pizza"})
        found = indexed.search(("en",), query="I'm hungry")
        assert keys(found) == ["food", "job"]
        assert found[0].score > found[1].score

    @needs("query")
    def test_what_is_meant_is_found_in_chinese(self, indexed: Called) -> None:
        indexed.put(("zh",), "job", {"text": "我是一名水管工"})
        indexed.put(("zh",), "food", {"text": "我喜欢吃披萨"})
        assert keys(indexed.search(("zh",), query="我饿了")) == ["food", "job"]

    @needs("query")
    def test_results_are_ranked_and_paged_without_gaps(self, indexed: Called) -> None:
        texts = ["pizza", "dinner at the office", "my dog", "rain", "the job of a plumber", "a hungry cat", "tea"]
        indexed.batch([PutOp(("f",), f"k{n}", {"text": text}) for n, text in enumerate(texts)])
        found = indexed.search(("f",), query="pizza for dinner", limit=7)
        scores = [item.score for item in found]
        assert found[0].key == "k0"
        assert None not in scores
        assert scores == sorted(scores, reverse=True)
        pages = [keys(indexed.search(("f",), query="pizza for dinner", limit=2, offset=at)) for at in range(0, 8, 2)]
        assert [key for page in pages for key in page] == keys(found)

    @needs("query")
    @pytest.mark.parametrize("fields", [["$"], ["a"]], ids=["whole value", "one field"])
    def test_an_old_text_leaves_no_trace(self, opened: Opened, fields: list[str]) -> None:
        store = opened(index(fields=fields))
        store.put(("f",), "k", {"a": "secret one"})
        (before,) = store.search(("f",), query="secret one")
        store.put(("f",), "k", {"other": 1})
        for item in store.search(("f",), query="secret one"):
            assert item.value == {"other": 1}
            assert item.score is None or item.score < before.score / 2

    @needs("query")
    def test_a_deleted_item_is_not_found(self, indexed: Called) -> None:
        indexed.put(("f",), "k", {"text": "pizza"})
        indexed.delete(("f",), "k")
        assert indexed.search(("f",), query="pizza") == []

    @needs("query")
    def test_an_item_without_an_index_is_found_by_key_and_filter_only(self, indexed: Called) -> None:
        indexed.put(("f",), "hidden", {"text": "pizza"}, index=False)
        indexed.put(("f",), "shown", {"text": "my dog"})
        found = indexed.search(("f",), query="pizza")
        assert [item.key for item in found if item.score is not None] == ["shown"]
        assert indexed.get(("f",), "hidden").value == {"text": "pizza"}
        assert keys(indexed.search(("f",), filter={"text": "pizza"})) == ["hidden"]

    @needs("query")
    def test_an_item_is_found_by_the_fields_it_names(self, indexed: Called) -> None:
        indexed.put(("f",), "k", {"title": "office", "text": "pizza"}, index=["title"])
        (by_title,), (by_text,) = (indexed.search(("f",), query=query) for query in ("office", "pizza"))
        assert by_text.score is None or by_text.score < by_title.score / 2

    @needs("query")
    def test_the_fields_of_the_index_are_what_is_read(self, opened: Opened) -> None:
        embedder = TopicEmbeddings()
        store = opened(index(embed=embedder, fields=["title", "notes[*]"]))
        embedder.asked.clear()
        store.put(("f",), "k", {"title": "office", "notes": ["pizza", "dog"], "text": "unread"})
        assert {"office", "pizza", "dog"} <= set(embedder.asked)
        assert not any("unread" in text for text in embedder.asked)

    @needs("query")
    def test_a_profile_is_searched_by_the_question_and_nobody_elses_is(self, indexed: Called) -> None:
        for tenant in ("acme", "acme-corp"):
            indexed.put(("profiles", tenant), "eats", {"text": "pizza for dinner", "of": tenant})
            indexed.put(("profiles", tenant), "works", {"text": "a plumber", "of": tenant})
            indexed.put(("profiles", tenant, "pets"), "dog", {"text": "a dog", "of": tenant})
        found = indexed.search(("profiles", "acme"), query="which job?", limit=2)
        assert found[0].key == "works"
        assert {item.value["of"] for item in indexed.search(("profiles", "acme"), query="which job?")} == {"acme"}
        assert len(found) == 2

    @needs("query")
    def test_a_small_namespace_is_searched_whole_beside_a_large_one(self, indexed: Called) -> None:
        indexed.batch([PutOp(("large",), f"k{n}", {"text": f"pizza number {n}"}) for n in range(300)])
        indexed.batch([PutOp(("small",), f"k{n}", {"text": f"rain on day {n}"}) for n in range(5)])
        assert sorted(keys(indexed.search(("small",), query="pizza", limit=10))) == [f"k{n}" for n in range(5)]

    @needs("query")
    def test_a_filter_narrows_a_query_before_the_limit_counts(self, indexed: Called) -> None:
        indexed.batch([PutOp(("f",), f"k{n}", {"text": "pizza", "n": n}) for n in range(40)])
        assert keys(indexed.search(("f",), query="pizza", filter={"n": 7}, limit=5)) == ["k7"]

    @needs("query")
    def test_an_index_of_other_dimensions_than_its_embedder_is_refused_when_it_is_opened(self, opened: Opened) -> None:
        with pytest.raises(Exception, match=r"\b3\b.*\btopics\b.*\b2\b|\b2\b.*\btopics\b.*\b3\b"):
            opened(index(3, embed=TopicEmbeddings(2)))

    @needs("query")
    @pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:10])
    def test_a_query_is_literal(self, indexed: Called, text: str) -> None:
        indexed.put(("f",), "k", {"text": "near a col x"})
        indexed.put(("g",), "other", {"text": "near a col x"})
        assert keys(indexed.search(("f",), query=text)) in ([], ["k"])

    @pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:10])
    def test_a_query_without_an_index_is_literal(self, store: Called, text: str) -> None:
        store.put(("f",), "k", {"text": "near a col x"})
        store.put(("g",), "other", {"text": "near a col x"})
        assert keys(store.search(("f",), query=text)) in ([], ["k"])

    @needs("query")
    def test_what_was_stored_in_one_event_loop_is_found_in_another(self, indexed: Called, style: Style) -> None:
        indexed.put(("f",), "k", {"text": "pizza"})
        style.renew()
        assert keys(indexed.search(("f",), query="hungry")) == ["k"]
