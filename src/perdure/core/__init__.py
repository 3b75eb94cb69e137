"""What memory is: threads, checkpoints, entries and items, over an injected unit of work."""
