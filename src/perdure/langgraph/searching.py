"""Searching: what a search was asked for, checked before its transaction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypedDict, TypeVar

from langgraph.store.base import SearchOp

from perdure import errors
from perdure.core import abouts, filters, namespaces
from perdure.core.codec import Codec
from perdure.core.search import finding, scores, words
from perdure.langgraph import moments
from perdure.langgraph.embedding import Wanted

__all__ = ["Search", "SearchOptions", "Sought", "sought"]

E = TypeVar("E", scores.Mode, scores.Fusion)
_LONGEST: Final = 100_000


class SearchOptions(TypedDict, total=False):
    """What else a search may be asked for; see docs/reference/search.md."""

    mode: str
    fusion: str
    min_score: float | None
    explain: bool
    weights: Mapping[str, float] | None
    superseded: bool
    quarantined: bool
    as_of: datetime | None


_OPTIONS: Final = frozenset(SearchOptions.__annotations__)
_WEIGHTS: Final = ("recency", "importance")


@dataclass(frozen=True, slots=True)
class Search:
    """A search with all that ours may say; LangGraph's SearchOp says less."""

    prefix: tuple[str, ...]
    filter: Mapping[str, Any] | None = None
    limit: int = 10
    offset: int = 0
    query: str | None = None
    refresh_ttl: bool | None = True
    options: SearchOptions = field(default_factory=SearchOptions)

    @classmethod
    def of(cls, op: SearchOp) -> Search:
        """Return LangGraph's operation as ours."""
        return cls(op.namespace_prefix, op.filter, op.limit, op.offset, op.query, op.refresh_ttl)


@dataclass(frozen=True, slots=True)
class Sought:
    """A search, checked. `text` None: there is no query. `moment`: of what the items were then, in microseconds."""

    text: str | None
    mode: scores.Mode
    ask: finding.Ask
    moment: int | None = None

    @property
    def wants_vector(self) -> bool:
        """Whether the embedder has to be asked, where there is one."""
        return self.text is not None and self.mode is not scores.Mode.TEXT

    def with_vector(self, wanted: Wanted | None) -> finding.Ask:
        """Return what to ask the core, now that the query is a vector; by words too, of the shelf that has vectors."""
        if wanted is None:
            return self.ask
        vector = wanted.vectors.get(self.text or "") if self.wants_vector else None
        query = replace(self.ask.query, vector=vector, middle=wanted.middle, axis=wanted.axis)
        return replace(self.ask, query=query, number=wanted.number, dims=wanted.dims)


def sought(codec: Codec, search: Search, bounds: tuple[int, int], *, paths: tuple[str, ...], indexed: bool) -> Sought:
    """Check a search. Raises InvalidInputError."""
    options = _options(search.options)
    mode, text = _choice("mode", options.get("mode", "hybrid"), scores.Mode), _text(search.query)
    if mode is scores.Mode.VECTOR and not indexed:
        raise errors.InvalidInputError(
            "mode='vector' needs an index, and this memory was opened without one: Memory.open(url, index={…})"
        )
    recency, importance = _weights(options.get("weights"))
    query = scores.Query(
        terms=tuple(words.query(text or "")),
        mode=mode,
        fusion=_choice("fusion", options.get("fusion", "scores"), scores.Fusion),
        recency=recency,
        importance=importance,
    )
    ask = finding.Ask(
        prefix=namespaces.check_path(search.prefix, "namespace prefix"),
        query=query,
        conditions=filters.parse(search.filter, codec),
        paths=paths,
        limit=bounds[0],
        offset=bounds[1],
        floor=_floor(options.get("min_score")),
        shown=_shown(options),
        explain=_flag("explain", options.get("explain", False)),
    )
    moment = _moment(options.get("as_of"), text)
    return Sought(text, mode, ask, moment)


def _options(given: SearchOptions) -> SearchOptions:
    if unknown := sorted(set(given) - _OPTIONS):
        raise errors.InvalidInputError(
            f"search takes no {unknown[0]!r}; beside LangGraph's arguments there are {', '.join(sorted(_OPTIONS))}"
        )
    return given


def _choice(name: str, given: object, allowed: type[E]) -> E:
    try:
        return allowed(given)  # type: ignore[arg-type]
    except ValueError:
        raise errors.InvalidInputError(f"{name} is one of {', '.join(allowed)}, not {given!r}") from None


def _text(query: object) -> str | None:
    if query is None or query == "":
        return None
    if not isinstance(query, str):
        raise errors.InvalidInputError(f"a query is text, not {type(query).__name__}")
    if len(query) > _LONGEST:
        raise errors.InvalidInputError(f"a query has up to {_LONGEST:,} characters; this one has {len(query):,}")
    return query


def _moment(given: object, text: str | None) -> int | None:
    if given is None:
        return None
    if text is not None:
        raise errors.InvalidInputError(
            "what items were is listed, not ranked: leave out query, or as_of; a filter goes with both"
        )
    return moments.instant(given, "as_of")


def _floor(given: object) -> float:
    if given is None:
        return -math.inf
    if isinstance(given, bool) or not isinstance(given, int | float) or not -1 <= given <= 1:
        raise errors.InvalidInputError(f"min_score is a number from -1 to 1, not {given!r}")
    return float(given)


def _weights(given: object) -> tuple[float, float]:
    if given is None:
        return 0.0, 0.0
    if not isinstance(given, Mapping) or not set(given) <= set(_WEIGHTS):
        raise errors.InvalidInputError(f"weights is a dict of {' and '.join(_WEIGHTS)}, not {given!r}")
    return _weight("recency", given), _weight("importance", given)


def _weight(name: str, given: Mapping[str, object]) -> float:
    value = given.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise errors.InvalidInputError(f"weights[{name!r}] is a number from 0 to 100, not {value!r}")
    return float(value)


def _shown(options: SearchOptions) -> int:
    superseded = _flag("superseded", options.get("superseded", False))
    quarantined = _flag("quarantined", options.get("quarantined", False))
    return abouts.SUPERSEDED * superseded + abouts.QUARANTINED * quarantined


def _flag(name: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise errors.InvalidInputError(f"{name} is True or False, not {given!r}")
    return given
