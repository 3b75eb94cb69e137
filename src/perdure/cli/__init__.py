"""What a person touches: the command `perdure`."""

from perdure.cli.app import main

__all__ = ["main"]
