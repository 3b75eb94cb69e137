"""Named SQL: each statement has a name, lives in a file, and is the same text at every call."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from perdure import errors

__all__ = ["arrays", "load", "migrations", "numbered", "quoted", "required"]

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*")
_LONGEST_NAME = 63
_ARRAY = re.compile(r"%\((\w+)\)s::\w+\[\]")
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)")


@cache
def load(engine: str) -> dict[str, str]:
    """Return the statements of `engine` by name: the common ones, with the engine's own over them."""
    found: dict[str, str] = {}
    for folder in ("common", engine):
        for _, text in _files("sql", folder):
            found.update(_parse(text))
    return found


@cache
def numbered() -> dict[str, str]:
    """Return PostgreSQL's statements with psycopg's form of parameters: ``%(name)s`` for ``:name``."""
    plain = {name: _COMMENT.sub("", sql).strip().rstrip(";") for name, sql in load("postgres").items()}
    return {name: _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%")) for name, sql in plain.items()}


@cache
def arrays(name: str) -> frozenset[str]:
    """Return the parameters of a statement of PostgreSQL that are arrays: one value of each row."""
    return frozenset(_ARRAY.findall(numbered().get(name, "")))


@cache
def required() -> dict[str, str]:
    """Return PostgreSQL's statements that change a row, in a form that divides by zero if they change none."""
    return {
        name: f"WITH changed AS ({sql} RETURNING 1) SELECT 1 / count(*) FROM changed"  # noqa: S608 - constant
        for name, sql in numbered().items()
        if sql.startswith(("UPDATE", "INSERT"))
    }


@cache
def migrations(engine: str) -> tuple[tuple[str, str], ...]:
    """Return (name, SQL) of every migration of `engine`, in the order to apply them."""
    return tuple(_files("migrations", engine))


def quoted(name: str, what: str) -> str:
    """Return the name of a schema or a role as it stands in SQL. Raises ConfigurationError."""
    if not isinstance(name, str) or not name or "\0" in name or len(name.encode(errors="replace")) > _LONGEST_NAME:
        raise errors.ConfigurationError(f"{what}'s name has 1 to {_LONGEST_NAME} bytes, without a NUL, not {name!r}")
    return '"' + name.replace('"', '""') + '"'


def _files(kind: str, folder: str) -> list[tuple[str, str]]:
    root = resources.files(__package__).joinpath(kind, folder)
    if not root.is_dir():
        return []
    found = sorted((f for f in root.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [(f.name.removesuffix(".sql"), f.read_text(encoding="utf-8")) for f in found]


def _parse(text: str) -> dict[str, str]:
    parts = _NAME.split(text)
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}
