"""Finding items by what they say: terms of a text, and what an item is worth to a query."""
