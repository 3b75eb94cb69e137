"""Values that old savers wrote as JSON, with objects as ``{"lc": 1 or 2, "type": "constructor", "id": […], …}``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from langchain_core import messages
from langchain_core.documents import Document

from perdure import errors
from perdure.core.codec import Codec

__all__ = ["loads"]

_LANGCHAIN: Final = {
    cls.__name__: cls
    for cls in (
        messages.AIMessage,
        messages.AIMessageChunk,
        messages.ChatMessage,
        messages.FunctionMessage,
        messages.HumanMessage,
        messages.RemoveMessage,
        messages.SystemMessage,
        messages.ToolMessage,
        Document,
    )
}


def loads(data: bytes, safe: Mapping[tuple[str, str], Any], codec: Codec) -> Any:
    """Return the value of JSON. `safe` makes known classes by module and name; any other becomes a foreign value."""

    def revive(found: dict[str, Any]) -> object:
        if found.get("type") != "constructor" or "id" not in found:
            return found
        if found.get("lc") == 1:
            return _langchain(found)
        return _constructed(found, safe, codec) if found.get("lc") == 2 else found

    return json.loads(data, object_hook=revive)


def _langchain(found: dict[str, Any]) -> object:
    cls = _LANGCHAIN.get(found["id"][-1]) if found["id"][0].startswith("langchain") else None
    if cls is None:
        raise errors.RefusedValueError(f"it holds a {'.'.join(found['id'])}, which has no place in a state")
    return cls(**found.get("kwargs") or {})


def _constructed(found: dict[str, Any], safe: Mapping[tuple[str, str], Any], codec: Codec) -> object:
    *path, name = found["id"]
    module, args, kwargs = ".".join(path), found.get("args") or [], found.get("kwargs") or {}
    make = safe.get((module, name))
    if make is not None:
        by_text = found.get("method") == "fromisoformat"
        return make.fromisoformat(*args) if by_text else make(*args, **kwargs)
    tag = f"{module}:{name}"
    if args and kwargs:
        raise errors.RefusedValueError(f"it holds a {tag} in a form of which nothing is known")
    if kwargs or not args:
        return codec.foreign(tag, kwargs, 2)
    return codec.foreign(tag, args[0], 0) if len(args) == 1 else codec.foreign(tag, args, 1)
