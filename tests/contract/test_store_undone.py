"""What was searched inside a write that was undone misleads no later search."""

from __future__ import annotations

import pytest
from langgraph.store.base import PutOp, SearchOp
from tests import inside
from tests.embedders import FakeEmbedder

from perdure import Memory, errors

ABOUT = ("u",)


@pytest.fixture(params=[False, True], ids=["words", "vectors"])
def memory(request, url):
    index = {"embed": FakeEmbedder(), "dims": 8} if request.param else None
    with Memory.open(url, index=index) as opened:
        yield opened


def said(store, query):
    """Return the keys of the items that say a word."""
    return sorted(item.key for item in store.search(ABOUT, query=query, mode="text"))


def test_a_search_in_a_batch_that_is_undone_leaves_no_trace(memory, styled):
    store = styled(memory.store)
    store.put(ABOUT, "k", {"text": "dog"})
    assert said(store, "dog") == ["k"]
    inside.refuse_writes(memory, "items", "INSERT", "NEW.key = 'bad'")
    change = [PutOp(ABOUT, "k", {"text": "cat"}), PutOp(ABOUT, "new", {"text": "cat"})]
    with pytest.raises(errors.DatabaseError):
        store.batch([*change, SearchOp(ABOUT, query="cat"), PutOp(ABOUT, "bad", {"text": "x"})])
    assert said(store, "cat") == []
    assert said(store, "dog") == ["k"]
    for number, animal in enumerate(["horse", "cow", "sheep"]):
        store.put(ABOUT, f"later{number}", {"text": animal})
        assert said(store, animal) == [f"later{number}"]


def test_a_search_in_a_batch_sees_what_the_batch_has_stored(memory, styled):
    store = styled(memory.store)
    found = store.batch([PutOp(ABOUT, "k", {"text": "cat"}), SearchOp(ABOUT, query="cat")])
    assert [item.key for item in found[1]] == ["k"]
    assert said(store, "cat") == ["k"]
