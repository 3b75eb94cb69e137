"""Embeddings as state: which model made a tenant's vectors, and what has to happen before another one may."""

from __future__ import annotations

import enum
import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from perdure import errors
from perdure.core import ids
from perdure.core.search import texts

if TYPE_CHECKING:
    from perdure.core.unit import Unit
    from perdure.engine import Row

__all__ = [
    "ABOUT_THIS_AND_THAT",
    "MOST_DIMS",
    "Embedding",
    "Job",
    "Spec",
    "State",
    "active",
    "agree",
    "check_model",
    "keep",
    "pending",
    "read",
    "refusal",
]

MOST_DIMS: Final = 16_000
PAGE: Final = 64
DROPPED_AT_ONCE: Final = 1000
_COSINE: Final = "cosine"
_LONGEST: Final = 255
_ATTEMPTS: Final = 5


ABOUT_THIS_AND_THAT: Final = (
    (
        "The train leaves the station at seven in the morning.",
        "She planted tomatoes and basil behind the house.",
        "Our team lost the match by two goals last Sunday.",
        "The meeting was moved to the larger room upstairs.",
        "He prefers tea without sugar after dinner.",
        "The invoice has to be paid within thirty days.",
        "It rained all week, and the river rose.",
        "My sister works as a nurse in a children's hospital.",
        "The program stops with an error when the file is missing.",
        "They painted the kitchen walls a pale yellow.",
        "The museum is closed on Mondays and public holidays.",
        "I would like to learn to play the violin one day.",
        "The doctor told him to sleep more and worry less.",
        "Two of the chairs are broken and need new legs.",
        "The report compares prices in four countries.",
        "Please send the parcel to my office address.",
    ),
    (
        "我们周末去爬山，天气很好。",
        "他每天早上坐地铁上班。",
        "这家餐厅的菜有点辣。",
        "请把文件发到我的邮箱。",
    ),
)
"""Sentences that have nothing in common, by language: what an embedder gives to any text, and to any in a language."""


class IncompleteError(Exception):
    """An item lacks the vectors that searches were to use."""


class State(enum.StrEnum):
    """What an embedding is for: searches; a switch to come; nothing any more."""

    ACTIVE = "active"
    BUILDING = "building"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Spec:
    """What vectors are made with, and of what."""

    model: str
    dims: int
    fields: tuple[str, ...] = texts.WHOLE

    def __str__(self) -> str:
        return f"{self.model} with {self.dims} dimensions over {', '.join(self.fields)}"


@dataclass(frozen=True, slots=True)
class Embedding:
    """A row of `embeddings`."""

    number: int
    spec: Spec
    state: State
    middle: bytes | None = None
    """The mean of the vectors of `ABOUT_THIS_AND_THAT`."""


@dataclass(frozen=True, slots=True)
class Job:
    """An item whose vectors are to be made. `id` places it among others."""

    namespace: str
    key: str
    fields: str | None
    projection: str
    id: int = 0

    def texts(self, spec: Spec) -> list[str]:
        """Return what to embed."""
        return texts.of(self.projection, self.fields, spec.fields)


def check_model(name: object) -> str:
    """Return a model's name. Raises InvalidIdError."""
    return ids.check(name, "the name of the embedding model", longest=_LONGEST)


def read(rows: Sequence[Row]) -> list[Embedding]:
    """Return embeddings of rows."""
    return [
        Embedding(number, Spec(model, dims, tuple(json.loads(fields))), State(state), middle)
        for number, model, dims, fields, state, middle in rows
    ]


def active(found: Sequence[Embedding]) -> Embedding | None:
    """Return the one that searches use."""
    return next((one for one in found if one.state is State.ACTIVE), None)


async def everyone(unit: Unit) -> list[Embedding]:
    """Return the embeddings of the tenant."""
    return read(await unit.all("embeddings_all"))


async def agree(unit: Unit, spec: Spec) -> Embedding:
    """Return the active embedding, which becomes this one if there is none."""
    found = active(await everyone(unit))
    if found is None:
        await add(unit, 1, spec, State.ACTIVE)
        found = active(await everyone(unit))
    return found or Embedding(1, spec, State.ACTIVE)


async def add(unit: Unit, number: int, spec: Spec, state: State) -> None:
    """Record an embedding."""
    await unit.post(
        "embedding_add",
        number=number,
        model=spec.model,
        dims=spec.dims,
        metric=_COSINE,
        fields=json.dumps(spec.fields, ensure_ascii=False),
        state=state.value,
        now=unit.now,
    )


async def set_middle(unit: Unit, number: int, middle: array[float]) -> None:
    """Record the mean of vectors of texts about this and that, and the axis that their languages lie along."""
    await unit.post("embedding_middle", number=number, middle=middle)


def refusal(tenant: str, kept: Spec, spec: Spec) -> errors.EmbeddingModelError:
    """Return the error for an index that is not what the vectors were made with."""
    return errors.EmbeddingModelError(
        f"the vectors of tenant {tenant!r} were made with {kept}, and this index is {spec}; open it with the former, "
        f"or make new vectors: perdure items reindex --tenant {tenant}"
    )


async def keep(unit: Unit, number: int, job: Job, vectors: Sequence[array[float]], *, building: bool = False) -> bool:
    """Store the vectors of an item if its text is still the one they were made of; tell whether it was.

    Not for an embedding that was retired meanwhile. `building`: searches don't use them yet.
    """
    held = await unit.all("embedding_hold", number=number)
    if not held or State(held[0][0]) is State.RETIRED:
        return False
    where = {"namespace": job.namespace, "key": job.key, "number": number}
    same = {**where, "projection": job.projection, "fields": job.fields or ""}
    if not building and not await unit.run("item_embedded", **{name: same[name] for name in same if name != "number"}):
        return False
    await unit.post("item_vectors_clear", **where)
    for place, vector in enumerate(vectors):
        await unit.post("item_vector_put", **same, place=place, vector=vector)
    return True


async def keep_all(
    unit: Unit, number: int, made: Sequence[tuple[Job, Sequence[array[float]]]], *, building: bool = False
) -> int:
    """Store the vectors of items; return of how many."""
    return sum([await keep(unit, number, job, vectors, building=building) for job, vectors in made])


async def pending(unit: Unit, after: int) -> list[Job]:
    """Return a page of items whose vectors are to follow."""
    return list(map(_job, await unit.all("items_pending", after=after, limit=PAGE)))


async def missing(unit: Unit, number: int, after: int) -> list[Job]:
    """Return a page of items that have no vectors of an embedding; some may have nothing to embed."""
    return list(map(_job, await unit.all("items_unembedded", number=number, after=after, limit=PAGE)))


async def missing_count(unit: Unit, number: int) -> int:
    """Return how many items have no vectors of an embedding."""
    row = await unit.one("items_unembedded_count", number=number)
    return int(row[0]) if row else 0


async def items_count(unit: Unit) -> int:
    """Return how many items the tenant has."""
    row = await unit.one("items_unembedded_count", number=0)
    return int(row[0]) if row else 0


async def pending_tenants(unit: Unit) -> list[str]:
    """Return the tenants with items whose vectors are to follow."""
    return [row[0] for row in await unit.all("items_pending_tenants")]


async def target(unit: Unit, spec: Spec) -> Embedding:
    """Return the embedding to fill: the active one if it is of this model, else one that is building."""
    for _ in range(_ATTEMPTS):
        chosen = await _chosen(unit, spec)
        if any((one.number, one.spec) == (chosen.number, spec) for one in await everyone(unit)):
            return chosen  # and its number is not one that somebody else has taken meanwhile, for another model
    raise _superseded()


async def _chosen(unit: Unit, spec: Spec) -> Embedding:
    found = await everyone(unit)
    for one in found:
        if one.spec == spec and one.state is not State.RETIRED:
            return one
        if one.state is State.BUILDING:
            await set_state(unit, one.number, State.RETIRED)
    state = State.BUILDING if active(found) else State.ACTIVE
    number = 1 + max((one.number for one in found), default=0)
    await add(unit, number, spec, state)
    return Embedding(number, spec, state)


async def set_state(unit: Unit, number: int, state: State) -> None:
    """Say what an embedding is for from now on."""
    await unit.post("embedding_state", number=number, state=state.value)


async def switch(unit: Unit, number: int) -> None:
    """Let searches use an embedding in place of the active one.

    Raises IncompleteError if an item lacks its vectors, ConflictError if another model's were begun meanwhile.
    """
    found = await everyone(unit)
    wanted = next((one for one in found if one.number == number and one.state is not State.RETIRED), None)
    if wanted is None:
        raise _superseded()
    for one in found:
        if one.state is State.ACTIVE and one.number != number:
            await unit.run("embedding_state", number=one.number, state=State.RETIRED.value)  # waits for writers
    await _refuse_incomplete(unit, wanted)
    await set_state(unit, number, State.ACTIVE)
    await unit.post("items_switched", number=number)


def _superseded() -> errors.ConflictError:
    return errors.ConflictError(
        "vectors of another model were begun meanwhile, by somebody else, and take the place of these. Agree on one "
        "model, and repeat with it"
    )


async def _refuse_incomplete(unit: Unit, embedding: Embedding) -> None:
    after = 0
    while jobs := await missing(unit, embedding.number, after):
        if any(job.texts(embedding.spec) for job in jobs):
            raise IncompleteError
        after = jobs[-1].id


async def drop(unit: Unit, number: int) -> bool:
    """Remove some vectors of an embedding that is retired, and at last its row; tell whether it is gone."""
    if await unit.run("vectors_drop", number=number, limit=DROPPED_AT_ONCE):
        return False
    await unit.post("embedding_remove", number=number)
    return True


def _job(row: Row) -> Job:
    number, namespace, key, fields, projection = row
    return Job(namespace, key, fields, projection, number)
