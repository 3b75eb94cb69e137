"""Contexts: whose items a part of an agent works on. The run says so; never the model, the state or a tool's call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from perdure import errors
from perdure.core import namespaces
from perdure.langgraph import configs

__all__ = ["Labels", "Namespace", "Running", "check", "resolve"]

Labels = tuple[str, ...]
Namespace = Labels | Callable[[Any], Labels]
"""Labels, of which ``"{name}"`` stands for a field of the run's context, or for its ``tenant_id`` or ``subject_id``;
or a function that is given the runtime."""

_FIELD: Final = re.compile(r"\{([A-Za-z_]\w*)\}", re.ASCII)
_OF_THE_CONFIG: Final = ("tenant_id", "subject_id")


class Running(Protocol):
    """What LangGraph hands to middleware and tools."""

    @property
    def context(self) -> Any:
        """What `invoke` was given as `context=`."""


def check(namespace: object, part: str) -> None:
    """Raise ConfigurationError that names the part whose namespace this is, if it can't be one."""
    if callable(namespace):
        return
    try:
        labels = namespaces.check(namespace)
        namespaces.refuse_reserved(labels)
    except errors.InvalidNamespaceError as error:
        raise errors.ConfigurationError(f"{part}: {error}") from None
    for label in labels:
        if ("{" in label or "}" in label) and not _FIELD.fullmatch(label):
            raise errors.ConfigurationError(
                f"{part}: a placeholder such as '{{user_id}}' is a whole label, and {label!r} is none; give it a label "
                "of its own, or pass a function of the runtime that returns the labels"
            )


def resolve(namespace: Namespace, runtime: Running, part: str) -> Labels:
    """Return the namespace of a run. Raises MissingContextError or InvalidNamespaceError."""
    if callable(namespace):
        labels: Any = namespace(runtime)
    else:
        labels = tuple([_filled(label, runtime, part) for label in namespace])
    return namespaces.check(labels)


def _filled(label: str, runtime: Running, part: str) -> str:
    found = _FIELD.fullmatch(label)
    if found is None:
        return label
    name = found[1]
    value = configs.ambient().get(name) if name in _OF_THE_CONFIG else _field(runtime.context, name)
    if isinstance(value, str) and value.strip():
        return value
    raise errors.MissingContextError(f"{part} needs {name} and {_lack(name, value, runtime)}", field=name)


def _field(context: Any, name: str) -> Any:
    return context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)


def _lack(name: str, value: object, runtime: Running) -> str:
    if name in _OF_THE_CONFIG:
        return f'the run\'s config {_said(value)}: pass {{"configurable": {{"{name}": "…"}}}} to invoke'
    said = "this run has no context" if runtime.context is None else f"the run's context {_said(value)}"
    return (
        f"{said}: pass context=User({name}=…) to invoke, where User is the class given to "
        "create_agent(…, context_schema=User)"
    )


def _said(value: object) -> str:
    if value is None:
        return "says none"
    return "has an empty one" if isinstance(value, str) else f"has {type(value).__name__}, not a string"
