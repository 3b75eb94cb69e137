"""Named SQL: each statement has a name, lives in a file, and is the same text at every call."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

__all__ = ["load", "migrations"]

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def load(engine: str) -> dict[str, str]:
    """Return the statements of `engine` by name: the common ones, with the engine's own over them."""
    found: dict[str, str] = {}
    for folder in ("common", engine):
        for _, text in _files("sql", folder):
            found.update(_parse(text))
    return found


@cache
def migrations(engine: str) -> tuple[tuple[str, str], ...]:
    """Return (name, SQL) of every migration of `engine`, in the order to apply them."""
    return tuple(_files("migrations", engine))


def _files(kind: str, folder: str) -> list[tuple[str, str]]:
    root = resources.files(__package__).joinpath(kind, folder)
    if not root.is_dir():
        return []
    found = sorted((f for f in root.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [(f.name.removesuffix(".sql"), f.read_text(encoding="utf-8")) for f in found]


def _parse(text: str) -> dict[str, str]:
    parts = _NAME.split(text)
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}
