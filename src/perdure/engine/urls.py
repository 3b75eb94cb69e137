"""URLs: which engine one is for, and how it is shown, which is without its password."""

from __future__ import annotations

import re
from urllib.parse import unquote

__all__ = ["has_stray_at", "hidden", "kind"]

_SECRETS = {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
_CLEAR = re.compile(r"([^:@/?#]*):[^@/?#]*@([^@/?#]*(?:/[^@?#]*)?(?:\?.*)?)", re.DOTALL)
"""What follows the scheme in a URL whose password can't be mistaken for something else."""
_PAIR = re.compile(r"([?&])([^=&]*)=([^&]*)")
_WORD = re.compile(rf"\b({'|'.join(_SECRETS)})(\s*=\s*)('(?:[^'\\]|\\.)*'?|\S+)")


def kind(url: str) -> str | None:
    """Return the engine that a URL's scheme asks for: "sqlite" or "postgres"; None if it is none of them."""
    scheme, colon, rest = url.partition(":")
    if not colon or not rest.startswith("//"):
        return None
    return {"sqlite": "sqlite", "postgres": "postgres", "postgresql": "postgres"}.get(scheme)


def hidden(url: str) -> str:
    """Return a URL, or a connection string, without its secrets; of a wrong one rather too little than too much."""
    scheme, slashes, rest = url.partition("://")
    if not slashes:
        return _WORD.sub(r"\1\2***", url)
    if clear := _CLEAR.fullmatch(rest):
        rest = f"{clear[1]}:***@{clear[2]}"
    else:
        user, at, place = rest.rpartition("@")
        name, colon, _ = user.partition(":")
        if at and colon:
            rest = f"{name}:***@{place}"
    return f"{scheme}://{_PAIR.sub(_without_secret, rest)}"


def _without_secret(pair: re.Match[str]) -> str:
    return f"{pair[1]}{pair[2]}=***" if unquote(pair[2]).strip().lower() in _SECRETS else pair[0]


def has_stray_at(url: str) -> bool:
    """Tell whether a URL has a `@` where a user's name and password can't end: one of them wasn't percent-encoded."""
    place = url.partition("://")[2].partition("?")[0]
    authority, _, path = place.partition("/")
    return authority.count("@") > 1 or "@" in path
