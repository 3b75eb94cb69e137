"""Engines: which one a URL is for. The driver of PostgreSQL is imported by those who use it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from perdure import errors
from perdure.engine import Engine, Finding, file_checks, urls
from perdure.engine.sqlite import SqliteEngine

__all__ = ["check", "make_role", "start"]

_DRIVERS = {"psycopg", "psycopg_binary", "psycopg_c", "psycopg_pool"}


def start(url: str, *, create: bool, schema: str | None, pool: Mapping[str, Any] | None, walls: str) -> Engine:
    """Open a database with the engine that its URL asks for.

    `walls`: what to do about a role that sees every tenant, "warn" or "refuse".
    """
    if _kind(url) == "postgres":
        made: Engine = _imported("postgres").PostgresEngine(url, create=create, schema=schema, pool=pool, walls=walls)
        return made
    if schema is not None or pool is not None:
        raise errors.ConfigurationError("schema= and pool= are PostgreSQL's; leave them out for SQLite")
    return SqliteEngine(url, create=create)


def check(url: str, *, schema: str | None = None) -> list[Finding]:
    """Return what `perdure doctor` shows of a database, which need not be fit to be opened; change nothing."""
    if _kind(url) == "postgres":
        found: list[Finding] = _imported("servers").Server(url, schema, {}).check()
        return found
    if outdated := file_checks.outdated(url):
        return outdated
    engine = start(url, create=False, schema=schema, pool=None, walls="warn")
    try:
        return engine.check()
    finally:
        engine.close()


def make_role(url: str, name: str, *, schema: str | None = None) -> list[str]:
    """Let a role of PostgreSQL use the tables, and make it if need be; return the SQL that did."""
    done: list[str] = _imported("servers").Server(url, schema, {}).make_role(name)
    return done


def _kind(url: str) -> str:
    if not isinstance(url, str):
        raise errors.InvalidUrlError(f"the URL must be a string such as 'sqlite:///agent.db', not {type(url).__name__}")
    if found := urls.kind(url):
        return found
    if url.startswith("postgresql+"):
        raise errors.InvalidUrlError(f"{urls.hidden(url)!r} names a driver, as for SQLAlchemy: write postgresql://…")
    raise errors.InvalidUrlError(
        f"{urls.hidden(url)!r} is no database URL: write sqlite:///agent.db for a file (sqlite:////folder/agent.db "
        "from the root), sqlite:// for memory that ends with the process, or postgresql://user@host:5432/database"
    )


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(f"perdure.engine.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _DRIVERS:
            raise
        raise _not_installed(error.name or "psycopg") from error
    except ImportError as error:
        if "pq wrapper" not in str(error):  # psycopg is there, and the library it calls isn't
            raise
        raise _not_installed("a working psycopg") from error


def _not_installed(what: str) -> errors.ConfigurationError:
    return errors.ConfigurationError(f"PostgreSQL needs {what}, which isn't installed: pip install 'perdure[postgres]'")
