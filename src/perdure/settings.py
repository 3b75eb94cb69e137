"""The one place that reads the environment. The command line asks it; the library takes arguments."""

from __future__ import annotations

import os
from ipaddress import ip_address
from urllib.parse import urlsplit

from perdure import errors

__all__ = ["child_environment", "embedder", "is_loopback", "let_threads_sleep", "named_url", "schema", "url"]

URL_VARIABLE = "PERDURE_URL"
SCHEMA_VARIABLE = "PERDURE_SCHEMA"
EMBED_VARIABLE = "PERDURE_EMBED"
_QUIET = {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}


def url(given: str | None) -> str:
    """Return the database URL that was given, else the one of PERDURE_URL.

    Raises ConfigurationError if there is neither, InvalidUrlError for a plain path.
    """
    found = named_url(given)
    if not found:
        raise errors.ConfigurationError(f"no database was named: pass --db sqlite:///agent.db, or set {URL_VARIABLE}")
    if "=" in found and "://" not in found:  # it may hold a password, so nothing of it is repeated
        raise errors.InvalidUrlError("a connection string is no URL: write postgresql://user@host:5432/database")
    if ":" not in found:
        raise errors.InvalidUrlError(f"{found!r} is a path, not a URL: write sqlite:///{found}")
    return found


def named_url(given: str | None) -> str | None:
    """Return the database URL that was given, else the one of PERDURE_URL, if there is any."""
    return given or os.environ.get(URL_VARIABLE)


def schema(given: str | None) -> str | None:
    """Return the schema that was given, else the one of PERDURE_SCHEMA, if there is any."""
    return given or os.environ.get(SCHEMA_VARIABLE) or None


def embedder(given: str | None) -> str | None:
    """Return the embedder that was given, else the one of PERDURE_EMBED, if there is any."""
    return given or os.environ.get(EMBED_VARIABLE) or None


def let_threads_sleep() -> None:
    """Keep the threads of an OpenMP library that is loaded after this from spinning while they wait."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def is_loopback(address: str | None) -> bool:
    """Tell whether a server's URL leads to this machine."""
    host = urlsplit(address or "").hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def child_environment(server: str | None) -> dict[str, str]:
    """Return the environment for a process of the demo: no tracing, and no proxy before a server on this machine."""
    found = dict(os.environ) | _QUIET
    if is_loopback(server):
        found = {name: value for name, value in found.items() if not name.lower().endswith("_proxy")}
        found |= {"NO_PROXY": "*", "no_proxy": "*"}
        found.setdefault("OPENAI_API_KEY", "not-needed")
    return found
