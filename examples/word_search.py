"""Search by words: no embedder, no model, no network; inflections, Chinese, and any punctuation."""

from perdure import Memory

memory = Memory.open("sqlite://")
store = memory.store
notes = ("notes",)
store.put(notes, "oven", {"title": "The pizza oven", "text": "Heats up in twenty minutes."})
store.put(notes, "trip", {"title": "Trip to Naples", "text": "We ate pizzas every day, and pizza at night."})
store.put(notes, "coffee", {"title": "咖啡", "text": "我每天早上喝一杯咖啡。"})


def keys(query: str) -> list[str]:
    """Return the keys of what a query finds, the best first."""
    found = store.search(notes, query=query)
    print(f"{query!r:28} -> {[(item.key, round(item.score or 0, 2)) for item in found]}")
    return [item.key for item in found]


assert keys("pizzas") == ["trip", "oven"]  # pizza and pizzas are one word; of equals, the newest comes first
assert keys("HEATING an oven") == ["oven"]
assert keys("早上喝什么？") == ["coffee"]
assert keys("submarine") == []  # an item that says nothing of the query is not found
assert keys('NEAR("pizza" OR oven*)')[0] == "oven"  # no query language: these are letters

# The score is the share of what was asked that an item says: 1 is everything.
(whole,) = store.search(notes, query="Trip to Naples", min_score=0.9)
assert whole.key == "trip"
assert store.search(notes, query="a trip by submarine to Greenland", min_score=0.9) == []

# Search and filter at once; without a query the newest comes first.
assert [item.key for item in store.search(notes, query="pizza", filter={"title": "Trip to Naples"})] == ["trip"]
assert [item.key for item in store.search(notes)] == ["coffee", "trip", "oven"]

memory.close()
print("Every item was found by what it says.")
