"""Vectors as state: those that are missing are made, and another model's take over when none is missing."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests import inside
from tests.embedders import FakeEmbedder

from perdure import Memory, errors
from perdure.core.search import embeddings

ABOUT = ("u",)


@pytest.fixture
def opened(shared_url):
    """Open memories on one database, each with a model of its own name; None: without an index."""
    made = []

    def open_one(model, **changes):
        embedder = FakeEmbedder()
        embedder.model = model
        index = None if model is None else {"embed": embedder, "dims": 8, **changes}
        made.append(Memory.open(shared_url, index=index))
        return made[-1], embedder

    yield open_one
    for memory in made:
        memory.close()


def fill(store, count=10):
    for n in range(count):
        store.put(ABOUT, f"k{n}", {"text": f"dog number {n}"})


def keys(found):
    return [item.key for item in found]


def states(memory):
    return inside.rows(memory, "SELECT model, state FROM embeddings ORDER BY number")


def numbers(memory):
    return inside.rows(memory, "SELECT number, count(*) FROM item_vectors GROUP BY number")


def test_items_from_before_the_index_get_their_vectors(opened, styled):
    plain, _ = opened(None)
    fill(plain.store)
    plain.store.put(ABOUT, "number", {"text": ""})
    plain.store.put(ABOUT, "hidden", {"text": "cat"}, index=False)
    memory, _ = opened("a")
    assert memory.store.search(ABOUT, query="puppy", mode="vector") == []
    seen = []
    done = styled(memory.store).reindex(lambda *at: seen.append(at))
    assert (done.model, done.dims, done.embedded, done.switched) == ("FakeEmbedder:a", 8, 10, False)
    assert seen[-1] == (12, 12)
    assert len(memory.store.search(ABOUT, query="puppy", mode="vector", limit=50)) == 10
    assert styled(memory.store).reindex().embedded == 0


def test_another_model_takes_over_when_every_item_has_its_vector(opened, styled):
    old, _ = opened("a")
    fill(old.store)
    new, _ = opened("b")
    with pytest.raises(errors.EmbeddingModelError, match="perdure items reindex"):
        new.store.search(ABOUT, query="dog")
    done = styled(new.store).reindex()
    assert (done.model, done.embedded, done.switched) == ("FakeEmbedder:b", 10, True)
    assert states(new) == [("FakeEmbedder:b", "active")]
    assert numbers(new) == [(2, 10)]
    assert len(new.store.search(ABOUT, query="dog", mode="vector", limit=50)) == 10
    with pytest.raises(errors.EmbeddingModelError, match=r"FakeEmbedder:b.*FakeEmbedder:a"):
        old.store.search(ABOUT, query="dog")


def test_other_fields_are_another_index(opened):
    old, _ = opened("a", fields=["text"])
    old.store.put(ABOUT, "k", {"text": "pizza", "title": "dog"})
    new, _ = opened("a", fields=["title"])
    with pytest.raises(errors.EmbeddingModelError, match=r"over text.*over title"):
        new.store.put(ABOUT, "k", {"title": "x"})
    new.store.put(ABOUT, "k", {"text": "pizza", "title": "dog"}, index=False)
    old.store.put(ABOUT, "k", {"text": "pizza", "title": "dog"})
    new.store.reindex()
    found = new.store.search(ABOUT, query="puppy", mode="vector", explain=True)[0]
    assert found.score > 0.9


def test_an_interrupted_run_goes_on_where_it_was(opened):
    old, _ = opened("a")
    fill(old.store, 200)
    new, embedder = opened("b")

    def stop(done, total):
        if done >= 128:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        new.store.reindex(stop)
    assert states(old) == [("FakeEmbedder:a", "active"), ("FakeEmbedder:b", "building")]
    assert len(old.store.search(ABOUT, query="dog", mode="vector", limit=500)) == 200
    embedder.failing = True
    with pytest.raises(errors.EmbedderError):
        new.store.reindex()
    embedder.failing = False
    embedder.documents.clear()
    assert new.store.reindex().embedded == 72
    assert len(embedder.documents) == 72
    assert numbers(new) == [(2, 200)]


def test_what_is_stored_meanwhile_is_not_left_out(opened):
    old, _ = opened("a")
    fill(old.store, 300)
    new, _ = opened("b")
    stop, stored = threading.Event(), []

    def write():
        number = 1000
        while not stop.is_set():
            number += 1
            old.store.put(ABOUT, f"k{number % 40}", {"text": f"cat {number}"})
            stored.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        new.store.reindex(lambda done, total: stop.set() if len(stored) > 20 and done == total else None)
    except errors.EmbeddingModelError:
        pass
    finally:
        stop.set()
        writer.join()
    missing = inside.rows(
        new,
        "SELECT count(*) FROM items i WHERE embedded IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM item_vectors v WHERE v.item = i.id AND v.number = 2)",
    )
    assert missing == [(0,)], "an item that says that it has vectors has none of the model that searches use"
    new.store.embed_pending()
    found = new.store.search(ABOUT, query="dog", mode="vector", limit=1000)
    assert len(found) == new.store.count(ABOUT)


def test_what_a_failing_embedder_left_is_made_later(opened, styled):
    memory, embedder = opened("a")
    embedder.failing = True
    fill(memory.store, 5)
    assert memory.scope(tenant="other").store.put(ABOUT, "k", {"text": "dog"}) is None
    assert styled(memory.store).embed_pending() == 0
    embedder.failing = False
    assert styled(memory.scope(tenant="other").store).embed_pending() == 1
    assert styled(memory.store).embed_pending() == 5
    assert styled(memory.store).embed_pending() == 0
    assert len(memory.store.search(ABOUT, query="puppy", mode="vector")) == 5


def test_a_text_that_changed_while_it_was_embedded_does_not_get_the_old_vector(opened):
    memory, embedder = opened("a")
    memory.store.put(ABOUT, "k", {"text": "start"})
    plain = embedder.embed_documents

    def meanwhile(texts):
        made = plain(texts)
        if texts == ["I love pizza"]:
            memory.store.put(ABOUT, "k", {"text": "my dog"})
        return made

    embedder.embed_documents = meanwhile
    memory.store.put(ABOUT, "k", {"text": "I love pizza"})
    (found,) = memory.store.search(ABOUT, query="puppy", mode="vector")
    assert found.value == {"text": "my dog"}
    assert found.score > 0.9


def test_without_an_index_there_is_nothing_to_make(memory):
    for call in (memory.store.reindex, memory.store.embed_pending):
        with pytest.raises(errors.ConfigurationError, match="index="):
            call()


def test_the_memory_itself_makes_what_a_failing_embedder_left(opened):
    memory, embedder = opened("a")
    embedder.failing = True
    fill(memory.store, 3)
    assert memory._rounds._thread is not None, "there is something to do in the background"
    embedder.failing = False
    memory._rounds.turn()
    assert len(memory.store.search(ABOUT, query="puppy", mode="vector")) == 3


def test_the_background_can_do_so_with_an_async_function(shared_url):
    failing = True

    async def embed(texts):
        if failing:
            raise TimeoutError
        return FakeEmbedder().embed_documents(texts)

    with Memory.open(shared_url, index={"embed": embed, "dims": 8, "model": "mine"}) as memory:
        asyncio.run(memory.store.aput(ABOUT, "k", {"text": "dog"}))
        failing = False
        memory._rounds.turn()
        assert len(asyncio.run(memory.store.asearch(ABOUT, query="puppy", mode="vector"))) == 1


def test_two_models_at_once_don_t_share_vectors(opened, monkeypatch):
    old, _ = opened("a")
    fill(old.store)
    one, two = opened("b")[0], opened("c")[0]
    both, add = threading.Barrier(2), embeddings.add

    async def together(unit, *given):
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(timeout=0.5)  # where a transaction lets another in
        await add(unit, *given)

    monkeypatch.setattr(embeddings, "add", together)
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(begun, memory) for memory in (one, two)]
        kept = {chosen.result().number: chosen.result().spec for chosen in found}
    assert sorted(spec.model for spec in kept.values()) == ["FakeEmbedder:b", "FakeEmbedder:c"]


def test_a_run_that_another_model_has_overtaken_ends_with_an_error(opened):
    old, _ = opened("a")
    fill(old.store)
    slow, fast = opened("b")[0], opened("c")[0]
    with pytest.raises(errors.ConflictError, match="another model"):
        slow.store.reindex(lambda *_: fast.store.reindex())
    assert states(old) == [("FakeEmbedder:c", "active")]
    assert len(fast.store.search(ABOUT, query="dog", mode="vector", limit=50)) == 10


def begun(memory):
    """Return what a run that has just begun is to fill."""
    calls = memory._calls
    return calls.write(calls.tenant(), lambda unit: embeddings.target(unit, calls.index.spec))


class Refusing(FakeEmbedder):
    """A fake that refuses some texts, whoever asks."""

    def embed_documents(self, texts):
        if any("refused" in text for text in texts):
            raise ValueError("too long")
        return super().embed_documents(texts)


def test_a_text_that_the_embedder_refuses_holds_up_no_other(shared_url):
    embedder = Refusing()
    with Memory.open(shared_url, index={"embed": embedder, "dims": 8}) as memory:
        memory.store.put(ABOUT, "odd", {"text": "refused"})
        embedder.failing = True
        fill(memory.store, 5)
        embedder.failing = False
        assert memory.store.embed_pending() == 5
        assert len(memory.store.search(ABOUT, query="puppy", mode="vector")) == 5
        with pytest.raises(errors.EmbedderError, match=r"'odd' in \('u',\).*index=False"):
            memory.store.reindex()
        memory.store.put(ABOUT, "odd", {"text": "refused"}, index=False)
        assert memory.store.reindex().embedded == 0


def test_an_item_that_is_counted_up_keeps_its_vectors(opened, styled):
    memory, _ = opened("a")
    memory.store.put(ABOUT, "k", {"text": "my dog", "seen": 0})
    styled(memory.store).increment(ABOUT, "k", "seen")
    assert keys(memory.store.search(ABOUT, query="puppy", mode="vector")) == ["k"]
    styled(memory.store).increment(ABOUT, "counter")
    memory._rounds.turn()
    assert memory.store.embed_pending() == 0


def test_an_embedder_that_changes_its_mind_on_dimensions_loses_no_item(opened):
    memory, embedder = opened("a")
    memory.store.put(ABOUT, "k", {"text": "dog"})
    embedder.dims = 5
    memory.store.put(ABOUT, "later", {"text": "cat"})
    assert keys(memory.store.search(ABOUT, query="cat", mode="text")) == ["later"]
