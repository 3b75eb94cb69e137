"""Configs: what a run's `configurable` says, checked at the door, and what is put into those we return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.checkpoint.base import EXCLUDED_METADATA_KEYS, CheckpointMetadata

from perdure import errors
from perdure.core import ids
from perdure.model import Address

__all__ = ["Scope", "address", "ambient", "config_of", "is_addressed", "metadata_of"]

LONGEST_NAMESPACE = 4096
_OURS = {"tenant_id", "subject_id"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose data a view works on. `named`: the tenant was given, not just the default."""

    tenant: str = "default"
    subject: str | None = None
    required: bool = False
    named: bool = False

    def tenant_for(self, configurable: Mapping[str, Any]) -> str:
        """Return the tenant of a run, or of this scope. Raises InvalidIdError if one is required and none named."""
        given = configurable.get("tenant_id")
        if given is not None:
            tenant = ids.check(given, "configurable['tenant_id']")
            if self.named and tenant != self.tenant:
                raise _bound("tenant", self.tenant, tenant)
            return tenant
        if self.required and not self.named:
            raise errors.InvalidIdError(
                'no tenant was named, and tenants="required": pass {"configurable": {"tenant_id": …}} or use '
                "memory.scope(tenant=…)"
            )
        return self.tenant

    def subject_for(self, configurable: Mapping[str, Any]) -> str | None:
        """Return the subject of a run, or of this scope."""
        given = configurable.get("subject_id")
        if given is None:
            return self.subject
        subject = ids.check(given, "configurable['subject_id']")
        if self.subject is not None and subject != self.subject:
            raise _bound("subject", self.subject, subject)
        return subject

    def narrowed(self, tenant: str | None, subject: str | None) -> Scope:
        """Return this scope with a tenant or subject of its own."""
        found = self
        if tenant is not None:
            if self.named and tenant != self.tenant:
                raise _bound("tenant", self.tenant, tenant)
            found = replace(found, tenant=ids.check(tenant, "tenant"), named=True)
        if subject is not None:
            if self.subject is not None and subject != self.subject:
                raise _bound("subject", self.subject, subject)
            found = replace(found, subject=ids.check(subject, "subject"))
        return found


def _bound(what: str, bound: str, asked: object) -> errors.InvalidIdError:
    return errors.InvalidIdError(
        f"this view is bound to {bound!r}, and {what} {asked!r} was named; take a view of the memory itself for the "
        f"other one (memory.scope({what}=…)), or leave {what}_id out of the run"
    )


def ambient() -> Mapping[str, Any]:
    """Return the `configurable` of the run that this call is part of; nothing outside of one."""
    return (var_child_runnable_config.get() or {}).get("configurable") or {}


def address(scope: Scope, config: RunnableConfig) -> Address:
    """Return where a config points. Raises MissingThreadIdError or InvalidIdError."""
    configurable = config.get("configurable") or {}
    thread = configurable.get("thread_id")
    if thread is None:
        raise errors.MissingThreadIdError(
            'this config names no thread: pass config={"configurable": {"thread_id": "…"}} to invoke, so that '
            "the conversation can be found again"
        )
    checkpoint = configurable.get("checkpoint_id") or None
    return Address(
        tenant=scope.tenant_for(configurable),
        thread=ids.check(thread, "thread_id"),
        ns=ids.check(configurable.get("checkpoint_ns") or "", "checkpoint_ns", longest=LONGEST_NAMESPACE, empty=True),
        checkpoint=None if checkpoint is None else ids.check(checkpoint, "checkpoint_id"),
        subject=scope.subject_for(configurable),
    )


def config_of(found: Address, given: RunnableConfig | None) -> RunnableConfig:
    """Return the config of a place. The tenant and subject that the given config names go on in it."""
    configurable = (given or {}).get("configurable") or {}
    kept = {key: configurable[key] for key in sorted(_OURS) if configurable.get(key) is not None}
    return {
        "configurable": {
            "thread_id": found.thread,
            "checkpoint_ns": found.ns,
            "checkpoint_id": found.checkpoint,
            **kept,
        }
    }


def is_addressed(config: RunnableConfig) -> bool:
    """Whether the run asked for an earlier checkpoint, so that a fork is what it wants."""
    return bool((config.get("metadata") or {}).get("checkpoint_id"))


def metadata_of(config: RunnableConfig, metadata: CheckpointMetadata) -> dict[str, Any]:
    """Return a checkpoint's metadata with what the run's config adds, as stock savers do.

    Unlike theirs, strings are kept as they are, and our own keys are left out.
    """
    found: dict[str, Any] = {key: value for key, value in metadata.items() if key != "writes"}
    for source in (config.get("metadata"), config.get("configurable")):
        for key, value in (source or {}).items():
            skipped = key in EXCLUDED_METADATA_KEYS or key in _OURS or key.startswith("__")
            if not skipped and key not in found and isinstance(value, str | int | float):
                found[key] = value
    return found
