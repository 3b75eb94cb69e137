"""What every command shares: its options, its memory, and how its reply gets out."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from perdure import errors, settings
from perdure.cli import output
from perdure.cli.output import Reply
from perdure.core.codec import Codec
from perdure.core.entries import Caches
from perdure.engine import urls
from perdure.langgraph.calls import Calls
from perdure.langgraph.configs import Scope
from perdure.memory import Memory

__all__ = ["DryRun", "Run", "Yes", "command"]

Action = Callable[..., Reply]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]


class _LookingCodec(Codec):
    """Reads values of classes that this process doesn't have as `Opaque`, so that everything can be looked at."""

    def unpack(self, data: bytes, *, where: str = "", refs: Any = None) -> object:
        return self.unpack_opaque(data, where=where, refs=refs)


@dataclass(frozen=True, slots=True)
class Run:
    """One command being run: what it was called, and the options that all have."""

    command: str
    db: str | None = None
    schema: str | None = None
    tenant: str | None = None
    as_json: bool = False

    @property
    def url(self) -> str:
        """The database's URL. Raises ConfigurationError if none was named."""
        return settings.url(self.db)

    @property
    def shown(self) -> str:
        """The database's URL without its password."""
        return urls.hidden(self.url)

    @property
    def place(self) -> str | None:
        """The schema, which PERDURE_SCHEMA names for PostgreSQL only."""
        is_postgres = urls.kind(settings.named_url(self.db) or "") == "postgres"
        return settings.schema(self.schema) if is_postgres else self.schema

    @contextmanager
    def opened(self, *, create: bool) -> Iterator[Memory]:
        """Open a database. That a role sees every tenant is for `doctor` to say, not for every command."""
        with warnings.catch_warnings(action="ignore", category=errors.UnsafeRoleWarning):
            memory = Memory.open(self.url, schema=self.place, create=create)
        with memory:
            yield memory

    def calls(self, memory: Memory) -> Calls:
        """Return the calls of a memory, made for looking: unknown classes come as `Opaque`."""
        return Calls(memory.engine, _LookingCodec(), Caches(), Scope().narrowed(self.tenant, None))

    @contextmanager
    def memory(self) -> Iterator[tuple[Memory, Calls]]:
        """Open a database that is there, for looking. Makes no file, and raises NotSetUpError for a missing one."""
        with self._named(), self.opened(create=False) as opened:
            calls = self.calls(opened)
            yield Memory(calls), calls

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except errors.NotSetUpError as error:
            if urls.kind(self.url) == "postgres":
                raise
            raise errors.NotSetUpError(
                f"there is no database at {self.url}: check the path, or make one with 'perdure setup --db {self.url}'"
            ) from error


_SHARED: dict[str, Any] = {
    "db": Annotated[
        str | None,
        typer.Option("--db", metavar="URL", help="sqlite:///path or postgresql://… [env: PERDURE_URL]."),
    ],
    "schema": Annotated[
        str | None,
        typer.Option("--schema", metavar="NAME", help="PostgreSQL: the schema it is in [env: PERDURE_SCHEMA]."),
    ],
    "tenant": Annotated[
        str | None, typer.Option("--tenant", metavar="ID", help="The tenant whose data it is; 'default' if left out.")
    ],
    "as_json": Annotated[bool, typer.Option("--json", help="Print one JSON envelope.")],
}


def command(
    app: typer.Typer, name: str, *, shared: tuple[str, ...] = ("db", "schema", "tenant", "as_json"), **options: Any
) -> Callable[[Action], Action]:
    """Add a function as a command. It takes a `Run` and its own options, and returns a `Reply`."""

    def add(action: Action) -> Action:
        title = f"{app.info.name} {name}" if isinstance(app.info.name, str) else name

        def call(**given: Any) -> None:
            run = Run(title, **{key: given.pop(key) for key in shared})
            reply = action(run, **given)
            output.emit(title, reply, as_json=run.as_json)
            if reply.problem is not None:
                raise typer.Exit(1)

        call.__doc__ = action.__doc__
        call.__signature__ = _signature(action, shared)  # type: ignore[attr-defined]
        app.command(name, **options)(call)
        return action

    return add


def _signature(action: Action, shared: tuple[str, ...]) -> inspect.Signature:
    own = list(inspect.signature(action, eval_str=True).parameters.values())[1:]
    kind = inspect.Parameter.KEYWORD_ONLY
    ours = [
        inspect.Parameter(key, kind, annotation=_SHARED[key], default=False if key == "as_json" else None)
        for key in shared
    ]
    return inspect.Signature([*(parameter.replace(kind=kind) for parameter in own), *ours])
