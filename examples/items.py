"""Long-term memory by hand: create, read, update, filter and page items, hide them from search, let them expire."""

import time

from perdure import Memory

memory = Memory.open("sqlite://", index={"embed": "local", "fields": ["text"]})
store = memory.store
facts = ("users", "ada@example.com", "facts")  # labels may hold dots; ("users",) is a prefix of it

# Create, read, update, delete
store.put(facts, "diet", {"text": "vegetarian", "sure": 0.7})
first = store.get(facts, "diet")
store.put(facts, "diet", {"text": "vegan", "sure": 0.9})
second = store.get(facts, "diet")
print(second.value, "version", second.version)
assert second.created_at == first.created_at
assert second.updated_at > first.updated_at
store.delete(facts, "diet")
assert store.get(facts, "diet") is None  # so is what never was there

# Search without a query: the newest first, by filter, page by page
for number in range(7):
    store.put(facts, f"run-{number}", {"text": f"ran {number} km", "km": number})
assert [item.key for item in store.search(("users",), limit=2)] == ["run-6", "run-5"]
assert [item.value["km"] for item in store.search(facts, filter={"km": {"$gte": 5}})] == [6, 5]
pages = [store.search(facts, limit=3, offset=at) for at in (0, 3, 6)]
assert [item.value["km"] for page in pages for item in page] == [6, 5, 4, 3, 2, 1, 0]

# With a query: ranked, with scores. What has no index, or one of its own, is found by that only.
store.put(facts, "secret", {"text": "plays the violin"}, index=False)
store.put(facts, "note", {"text": "see title", "title": "plays the piano"}, index=["title"])
found = store.search(facts, query="Which instrument is played?", limit=3)
print([(item.key, round(item.score, 2)) for item in found])
assert found[0].key == "note"
assert "secret" not in [item.key for item in store.search(facts, query="violin", limit=100)]
assert [item.key for item in store.search(facts, filter={"text": "plays the violin"})] == ["secret"]

# Time to live, in minutes: gone when it is over, swept or not. A read that refreshes begins it anew.
two_seconds = 2 / 60
store.put(facts, "otp", {"text": "one-time code"}, ttl=two_seconds)
store.put(facts, "kept", {"text": "seen lately"}, ttl=two_seconds)
time.sleep(1.2)
assert store.get(facts, "otp", refresh_ttl=False)
assert store.get(facts, "kept")  # refreshes, unless told otherwise
time.sleep(1.2)
assert store.get(facts, "otp") is None
assert store.get(facts, "kept")
print("swept:", store.sweep())

memory.close()
print("Every item was where it should be, for as long as it should.")
