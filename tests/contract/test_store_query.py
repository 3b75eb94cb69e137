"""Searches with a query: by words, by meaning, and by both."""

from __future__ import annotations

import asyncio
import math

import pytest
from langgraph.store.base import PutOp
from tests import inside
from tests.embedders import FakeEmbedder

from perdure import Memory, errors


@pytest.fixture
def embedder():
    return FakeEmbedder()


@pytest.fixture
def indexed(url, embedder):
    with Memory.open(url, index={"embed": embedder, "dims": 8}) as memory:
        yield memory


@pytest.fixture
def store(indexed, styled):
    return styled(indexed.store)


@pytest.fixture
def plain(memory, styled):
    """A store without an embedder."""
    return styled(memory.store)


def keys(found):
    return [item.key for item in found]


def test_what_is_meant_is_found_without_a_common_word(store):
    store.put(("u",), "food", {"text": "I love pizza"})
    store.put(("u",), "job", {"text": "I am a plumber"})
    assert keys(store.search(("u",), query="I'm hungry")) == ["food", "job"]
    store.put(("z",), "food", {"text": "我喜欢吃披萨"})
    store.put(("z",), "job", {"text": "我是一名水管工"})
    assert keys(store.search(("z",), query="我饿了")) == ["food", "job"]


def test_without_an_embedder_a_query_is_a_search_for_words(plain):
    plain.put(("u",), "a", {"text": "I love pizza", "tags": ["food"]})
    plain.put(("u",), "b", {"text": "我每天早上喝咖啡"})
    plain.put(("u",), "c", {"text": "Nothing of that"})
    assert keys(plain.search(("u",), query="pizzas")) == ["a"]
    assert keys(plain.search(("u",), query="food")) == ["a"]
    assert keys(plain.search(("u",), query="咖啡")) == ["b"]
    assert plain.search(("u",), query="zebra") == []
    with pytest.raises(errors.InvalidInputError, match="index"):
        plain.search(("u",), query="pizza", mode="vector")


def test_the_old_text_leaves_no_trace(store, plain):
    for one in (store, plain):
        one.put(("u",), "k", {"a": "secret one"})
        one.search(("u",), query="secret one")
        one.put(("u",), "k", {"other": 1})
        assert one.search(("u",), query="secret one", mode="text") == []
    store.put(("u",), "k", {"a": "secret one"})
    store.put(("u",), "k", {"other": 1})
    (found,) = store.search(("u",), query="secret one", explain=True)
    assert (found.explanation.words, found.explanation.terms) == (0.0, ())


def test_a_search_sees_what_was_changed_a_moment_ago(store):
    for n in range(40):
        store.put(("u",), f"k{n}", {"text": f"dog number {n}"})
        assert f"k{n}" in keys(store.search(("u",), query=f"dog number {n}", limit=3))
        if n % 3 == 0:
            store.delete(("u",), f"k{n}")
            assert f"k{n}" not in keys(store.search(("u",), query=f"dog number {n}", limit=50))
    assert len(store.search(("u",), query="dog", limit=50)) == store.count(("u",))


def test_a_prefix_is_searched_whole_and_nothing_beside_it(store):
    store.put(("t", "acme"), "a", {"text": "pizza"})
    store.put(("t", "acme", "sub"), "b", {"text": "pizza"})
    store.put(("t", "acme-corp"), "c", {"text": "pizza"})
    store.put(("t", "ACME"), "d", {"text": "pizza"})
    for mode in ("hybrid", "text", "vector"):
        assert sorted(keys(store.search(("t", "acme"), query="pizza", mode=mode))) == ["a", "b"]
        assert sorted(keys(store.search((), query="pizza", mode=mode))) == ["a", "b", "c", "d"]


def test_no_item_is_found_by_what_it_is_not_indexed_by(store):
    store.put(("u",), "hidden", {"text": "pizza"}, index=False)
    store.put(("u",), "titled", {"title": "office", "text": "pizza"}, index=["title"])
    assert keys(store.search(("u",), query="pizza", mode="text")) == []
    assert keys(store.search(("u",), query="office", mode="text")) == ["titled"]
    assert keys(store.search(("u",), query="pizza", mode="vector")) == ["titled"]
    assert store.get(("u",), "hidden").value == {"text": "pizza"}
    assert keys(store.search(("u",), filter={"text": "pizza"})) == ["titled", "hidden"]


def test_several_vectors_of_an_item_count_once_by_the_best(url, embedder, styled):
    with Memory.open(url, index={"embed": embedder, "dims": 8, "fields": ["notes[*]"]}) as memory:
        store = styled(memory.store)
        store.put(("u",), "both", {"notes": ["I am a plumber", "I love pizza", "I love pizza"]})
        store.put(("u",), "one", {"notes": ["my dog"]})
        found = store.search(("u",), query="hungry", mode="vector", limit=5)
        assert keys(found) == ["both", "one"]
        assert embedder.documents.count("I love pizza") == 1


def test_pages_have_no_gaps(store):
    for n in range(30):
        store.put(("u",), f"{n:02}", {"text": f"dog {n % 4}"})
    for mode in ("hybrid", "text", "vector"):
        whole = keys(store.search(("u",), query="dog 3", limit=30, mode=mode))
        paged = [
            key
            for at in range(0, 30, 7)
            for key in keys(store.search(("u",), query="dog 3", limit=7, offset=at, mode=mode))
        ]
        assert paged == whole
        assert len(set(whole)) == 30


def test_a_filter_narrows_before_the_limit_counts(store):
    for n in range(60):
        store.put(("u",), f"{n:02}", {"text": "dog", "n": n})
    found = store.search(("u",), query="dog", filter={"n": {"$lt": 5}}, limit=10)
    assert sorted(keys(found)) == ["00", "01", "02", "03", "04"]


def test_expired_superseded_and_quarantined_items_are_not_found(store):
    store.put(("u",), "old", {"text": "pizza"}, superseded_by="new")
    store.put(("u",), "odd", {"text": "pizza"}, quarantined=True)
    store.put(("u",), "new", {"text": "pizza"})
    assert keys(store.search(("u",), query="pizza")) == ["new"]
    assert sorted(keys(store.search(("u",), query="pizza", superseded=True))) == ["new", "old"]
    assert sorted(keys(store.search(("u",), query="pizza", superseded=True, quarantined=True))) == ["new", "odd", "old"]
    assert sorted(keys(store.search(("u",), quarantined=True))) == ["new", "odd"]


def test_a_floor_answers_nothing(store):
    store.put(("u",), "job", {"text": "I am a plumber"})
    assert store.search(("u",), query="zebra crossing", min_score=0.4) == []
    assert keys(store.search(("u",), query="plumber", min_score=0.4)) == ["job"]
    (found,) = store.search(("u",), query="plumber", min_score=0.4)
    assert 0.4 <= found.score <= 1


def test_scores_are_explained_and_add_up(store):
    store.put(("u",), "a", {"text": "I love pizza"}, importance=1.0)
    store.put(("u",), "b", {"text": "pizza oven for sale"})
    first, second = store.search(("u",), query="pizza", explain=True, weights={"importance": 1, "recency": 0.5})
    why = first.explanation
    assert (first.key, why.importance, why.terms) == ("a", 1.0, ("pizza",))
    assert why.recency == pytest.approx(1.0, abs=0.01)
    base = 0.4 * why.words + 0.6 * why.closeness
    assert first.score == why.score == pytest.approx((base + why.importance + 0.5 * why.recency) / 2.5)
    assert second.score < first.score
    assert store.search(("u",), query="pizza")[0].explanation is None
    assert store.search(("u",), explain=True)[0].explanation is None


def test_ranks_may_be_fused_in_place_of_scores(store):
    for n in range(5):
        store.put(("u",), f"k{n}", {"text": "pizza " * (n + 1) + "dinner"})
    found = store.search(("u",), query="pizza", fusion="ranks")
    assert len(found) == 5
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    assert 0 < found[-1].score <= found[0].score <= 1


@pytest.mark.parametrize(
    "text",
    ["NEAR(", '"', "*", "col:", "a AND", "a OR NOT b", "((((", "\x00", "\ud800", "x" * 100_000, "-", "^a", "😀", "  "],
)
def test_query_text_is_literal(plain, text):
    plain.put(("u",), "k", {"text": "near a col x"})
    assert keys(plain.search(("u",), query=text)) in ([], ["k"])


def test_what_is_asked_wrongly_is_refused(store):
    for options, names in [
        ({"mode": "fuzzy"}, "hybrid"),
        ({"fusion": "sum"}, "ranks"),
        ({"min_score": 2}, "min_score"),
        ({"weights": {"luck": 1}}, "recency"),
        ({"weights": {"recency": -1}}, "recency"),
        ({"explain": 1}, "explain"),
        ({"superseded": None}, "superseded"),
        ({"top_k": 1}, "min_score"),
    ]:
        with pytest.raises(errors.InvalidInputError, match=names):
            store.search(("u",), query="x", **options)
    with pytest.raises(errors.InvalidInputError, match="100,000"):
        store.search(("u",), query="x" * 100_001)


# The embedder


def test_documents_and_queries_are_embedded_by_their_own_methods_and_equal_texts_once(store, embedder):
    embedder.documents.clear()
    store.batch([PutOp(("u",), f"k{n}", {"text": f"dog {n % 2}"}) for n in range(10)])
    assert sorted(embedder.documents) == ["dog 0", "dog 1"]
    store.search(("u",), query="which dog?")
    assert embedder.queries == ["which dog?"]


def test_a_failing_embedder_loses_nothing(store, embedder, caplog):
    embedder.failing = True
    store.put(("u",), "k", {"text": "a cat called Miso"})
    assert store.get(("u",), "k").value == {"text": "a cat called Miso"}
    assert keys(store.search(("u",), query="Miso")) == ["k"]
    with pytest.raises(errors.EmbedderError, match="TimeoutError"):
        store.search(("u",), query="Miso", mode="vector")
    assert "Miso" not in caplog.text
    embedder.failing = False
    assert keys(store.search(("u",), query="puppy", mode="vector")) == []


STRANGE = {
    "none": lambda _: None,
    "nothing for a text": lambda texts: [None for _ in texts],
    "words": lambda texts: [["a", "b", "c"] for _ in texts],
    "too few": lambda _: [],
    "lists of lists": lambda texts: [[[1.0], [2.0], [3.0]] for _ in texts],
    "too large": lambda texts: [[1e300] * 3 for _ in texts],
    "too large an int": lambda texts: [[10**400, 1, 1] for _ in texts],
    "complex": lambda texts: [[1j, 1, 1] for _ in texts],
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_an_embedder_that_gives_something_strange_has_failed(url, styled, strange):
    given = []

    def embed(texts):
        return strange(texts) if given else [[1.0, 2.0, 3.0] for _ in texts]

    with Memory.open(url, index={"embed": embed, "dims": 3}) as memory:
        given.append(strange)
        store = styled(memory.store)
        store.put(("u",), "k", {"text": "Miso"})
        assert keys(store.search(("u",), query="Miso")) == ["k"]
        with pytest.raises(errors.EmbedderError):
            store.search(("u",), query="Miso", mode="vector")
        given.clear()
        assert store.embed_pending() == 1


def test_vectors_may_come_one_by_one(url, styled):
    with Memory.open(url, index={"embed": lambda texts: ([1.0, 2.0] for _ in texts), "dims": 2}) as memory:
        store = styled(memory.store)
        store.put(("u",), "k", {"text": "Miso"})
        assert memory.store.embed_pending() == 0
        assert inside.rows(memory, "SELECT count(*) FROM item_vectors") == [(1,)]


def test_an_index_of_other_dimensions_is_refused_at_open(url):
    with pytest.raises(errors.ConfigurationError, match=r"3 dimensions.*fake-topics.*2"):
        Memory.open(url, index={"embed": FakeEmbedder(2), "dims": 3})


def test_another_model_is_refused_at_first_use_and_both_are_named(shared_url, embedder, styled):
    with Memory.open(shared_url, index={"embed": embedder, "dims": 8}) as memory:
        memory.store.put(("u",), "k", {"text": "pizza"})
    other = FakeEmbedder()
    other.model = "other"
    with Memory.open(shared_url, index={"embed": other, "dims": 8}) as memory:
        store = styled(memory.store)
        for use in (lambda: store.put(("u",), "k", {"text": "x"}), lambda: store.search(("u",), query="x")):
            with pytest.raises(errors.EmbeddingModelError, match=r"fake-topics.*other.*reindex"):
                use()
        assert store.get(("u",), "k").value == {"text": "pizza"}
        assert keys(store.search(("u",))) == ["k"]


@pytest.mark.parametrize("given", [3, ["x"], "nobody:model", "openai:text-embedding-3-small"])
def test_what_can_not_embed_is_refused_at_open(given, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(errors.ConfigurationError, match=r"index\['embed'\]"):
        Memory.open("sqlite://", index={"embed": given, "dims": 3})


def test_a_function_and_an_async_function_may_embed(url):
    async def embed(texts):
        return FakeEmbedder().embed_documents(texts)

    async def use():
        async with Memory.open(url, index={"embed": embed, "dims": 8, "model": "mine"}) as memory:
            await memory.store.aput(("u",), "food", {"text": "pizza"})
            await memory.store.aput(("u",), "job", {"text": "plumber"})
            return keys(await memory.store.asearch(("u",), query="hungry"))

    assert asyncio.run(use()) == ["food", "job"]


def test_two_event_loops_use_one_index(url, embedder):
    with Memory.open(url, index={"embed": embedder, "dims": 8}) as memory:
        asyncio.run(memory.store.aput(("u",), "k", {"text": "pizza"}))
        assert keys(asyncio.run(memory.store.asearch(("u",), query="dinner"))) == ["k"]
        assert keys(memory.store.search(("u",), query="dinner")) == ["k"]


def test_vectors_of_many_dimensions_work(url):
    rows = {"a": [1.0] + [0.0] * 3071, "b": [0.0, 1.0] + [0.0] * 3070}

    def embed(texts):
        return [rows.get(text, [1.0] * 3072) for text in texts]

    with Memory.open(url, index={"embed": embed, "dims": 3072}) as memory:
        memory.store.put(("u",), "a", {"text": "a"})
        memory.store.put(("u",), "b", {"text": "b"})
        found = memory.store.search(("u",), query="b", mode="vector")
        assert [(item.key, round(item.score, 6)) for item in found] == [("b", 1.0), ("a", 0.0)]


def test_small_tenants_are_not_starved_by_large_ones(shared_url):
    """Each tenant gets min(k, n) items, and the right ones."""

    def embed(texts):
        return [[math.cos(len(text)), math.sin(len(text)), 0.1] for text in texts]

    sizes = [1, 2, 3, 5, 8, 13, 40, 200]
    with Memory.open(shared_url, index={"embed": embed, "dims": 3}) as memory:
        for number, size in enumerate(sizes):
            view = memory.scope(tenant=f"t{number}").store
            view.batch([PutOp(("u",), f"k{n}", {"text": "x" * (n * 7 % 97 + 1) + f"{number}"}) for n in range(size)])
        for number, size in enumerate(sizes):
            view = memory.scope(tenant=f"t{number}").store
            found = view.search(("u",), query="xxxx", mode="vector", limit=10)
            assert len(found) == min(10, size)
            (wanted,) = embed(["xxxx"])
            cosines = {
                item.key: sum(a * b for a, b in zip(wanted, embed([item.value["text"]])[0], strict=True))
                for item in view.search(("u",), limit=1000)
            }
            best = sorted(cosines.values(), reverse=True)[:10]
            assert [cosines[item.key] for item in found] == pytest.approx(best)


def test_an_embedder_is_not_asked_again_at_open_once_it_has_made_vectors(shared_url):
    asked = []

    def embed(texts):
        asked.extend(texts)
        return FakeEmbedder().embed_documents(texts)

    for _ in range(2):
        with Memory.open(shared_url, index={"embed": embed, "dims": 8, "model": "mine"}) as memory:
            first = len(asked)
            memory.store.put(("u",), "k", {"text": "pizza"})
    assert (first, asked[-1]) == (2, "pizza")


def test_a_search_does_not_hold_up_the_loop_of_its_caller(application_url):
    """A cold search of many items goes on while another task ticks."""

    async def use():
        async with Memory.open(application_url) as memory:
            await memory.store.abatch([PutOp(("u",), f"k{n}", {"text": f"dog number {n} " * 20}) for n in range(3000)])
            searching = asyncio.create_task(memory.store.asearch(("u",), query="dog"))
            ticks, longest, last = 0, 0.0, asyncio.get_running_loop().time()
            while not searching.done():
                await asyncio.sleep(0.001)
                now = asyncio.get_running_loop().time()
                ticks, longest, last = ticks + 1, max(longest, now - last), now
            return len(await searching), ticks

    found, ticks = asyncio.run(use())
    assert found == 10
    assert ticks > 10
