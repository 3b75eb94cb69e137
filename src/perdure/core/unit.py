"""The unit of work: a transaction, the tenant it is for, and the time it happens at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from perdure.engine import Params, Question, Row, Tx

__all__ = ["Unit"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unit:
    """What every core function takes first. `now` is in microseconds since 1970, UTC.

    The tenant is bound to every statement here, so that no caller can forget it. `generations` are
    numbers that this process has taken for threads to come. `writes`: what is seen here may yet be undone.
    """

    tx: Tx
    tenant: str
    now: int
    generations: list[int] = field(default_factory=list)
    writes: bool = False

    @property
    def distant(self) -> bool:
        """Whether every question is a round trip."""
        return self.tx.distant

    @property
    def measures(self) -> bool:
        """Whether the database itself measures distances between vectors."""
        return self.tx.measures

    async def all(self, name: str, /, **params: object) -> list[Row]:
        """Run a named statement for this tenant and return every row."""
        return await self.tx.all(name, tenant=self.tenant, **params)

    async def one(self, name: str, /, **params: object) -> Row | None:
        """Run a named statement for this tenant and return its first row, or None."""
        return await self.tx.one(name, tenant=self.tenant, **params)

    async def run(self, name: str, /, **params: object) -> int:
        """Run a named statement for this tenant and return the number of rows it changed."""
        return await self.tx.run(name, tenant=self.tenant, **params)

    async def together(self, questions: Sequence[Question], /) -> list[list[Row]]:
        """Run several named statements for this tenant, in one round trip, and return the rows of each."""
        return await self.tx.together([(name, {"tenant": self.tenant, **params}) for name, params in questions])

    async def post(self, name: str, /, **params: object) -> None:
        """Run a named statement for this tenant whose outcome nobody asks for."""
        await self.tx.post(name, tenant=self.tenant, **params)

    async def many(self, name: str, rows: Sequence[Params], /) -> None:
        """Post a named statement for this tenant once for each set of parameters."""
        await self.tx.many(name, [{"tenant": self.tenant, **row} for row in rows])

    async def compute(self, task: Callable[[], T], /) -> T:
        """Run what takes the processor for long; not on an event loop's thread."""
        return await self.tx.compute(task)

    async def require(self, name: str, /, **params: object) -> None:
        """Post a named statement for this tenant that has to change a row; if it doesn't, the work is outdated."""
        await self.tx.require(name, tenant=self.tenant, **params)
