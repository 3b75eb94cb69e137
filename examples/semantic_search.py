"""Search by meaning: what is asked and what is stored need no word in common, in English or Chinese, and no network."""

from perdure import Memory

# "local" is a small model on this machine: pip install "perdure[local]". A provider's, which wants a key, is named
# like "openai:text-embedding-3-small", with its "dims" (1536) beside it.
memory = Memory.open("sqlite://", index={"embed": "local"})
store = memory.store

english, chinese = ("users", "ada", "facts"), ("users", "李雷", "facts")
store.put(english, "food", {"text": "I love pizza"})
store.put(english, "work", {"text": "I am a plumber"})
store.put(chinese, "food", {"text": "我喜欢吃披萨"})
store.put(chinese, "work", {"text": "我是一名水管工"})


def best(namespace: tuple[str, ...], question: str) -> str:
    """Return the key of the item that answers a question best."""
    found = store.search(namespace, query=question)
    print(question, "->", "; ".join(f"{item.value['text']} ({item.score:.2f})" for item in found))
    assert len(found) == 2  # all that is there, in order of what it is worth
    return found[0].key


assert best(english, "I'm hungry") == "food"
assert best(english, "What do I do for a living?") == "work"
assert best(chinese, "我饿了") == "food"
assert best(chinese, "我的职业是什么？") == "work"

# Why an item has its score: by its words and by its vector.
first = store.search(english, query="Which pizza?", explain=True)[0]
print(first.explanation)
assert first.explanation.terms == ("pizza",)
assert first.explanation.closeness > 0

# A question that nothing answers gets nothing, if you say how little is too little.
assert [item.key for item in store.search(english, query="Which pizza?", min_score=0.4)] == ["food"]
assert store.search(english, query="What is the capital of Peru?", min_score=0.4) == []

memory.close()
print("What was meant was found, in both languages.")
