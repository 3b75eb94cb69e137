"""Items beside the stores that come with LangGraph: put, get, filters, search by vectors, what is found of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

from langgraph.store.base import GetOp, PutOp

from benchmarks import notes, stores
from benchmarks.contestants import LABELS
from benchmarks.notes import Place
from benchmarks.rows import Row, Target
from benchmarks.workers import Worker, interleave, started

__all__ = ["Sizes", "measure", "play", "play_cold", "rows"]

NAME = "items"
TITLE = "Items: milliseconds of a call, and what a search finds"
_QUERIES = 64
_TENANTS = "100 tenants"
_AT_ONCE = 100
_MOST_IN_MEMORY = 10_000

Answers = dict[str, list[Any]]


class Sizes:
    """How much is measured: namespaces, tenants and rounds."""

    def __init__(self, *, quick: bool) -> None:
        self.filtered = (200, 1_000) if quick else (1_000, 10_000)
        self.searched = (200, 1_000, 2_000) if quick else (1_000, 10_000, 100_000)
        self.tenants = notes.tenants(100, 100 if quick else 5_000)
        self.rounds = 2 if quick else 5
        self.target = self.searched[1]

    def repetitions(self, count: int) -> int:
        """Return how many searches make a round."""
        return max(4, min(40, 100_000 // count))


def play(name: str, where: str, places: Sequence[Place], indexed: bool) -> Generator[Any, Any, None]:  # noqa: FBT001
    """Fill the places; then do what each question names, and yield the milliseconds of each call, or what it found."""
    with stores.opened(name, where, indexed=indexed) as contestant:
        for place in places:
            contestant.fill(place)
        contestant.ready()
        work = _Work(contestant)
        question = yield None
        while True:
            what, *given = question
            question = yield getattr(work, what)(*given)


def play_cold(name: str, where: str, place: Place, mode: str) -> Generator[Any, Any, None]:
    """Open what is filled already, and measure the first search."""
    with stores.opened(name, where, indexed=True) as contestant:
        yield None
        yield _timed([lambda: contestant.search(place, notes.queries(1)[0], mode)])


class _Work:
    """The calls that are measured, by the names of questions."""

    def __init__(self, contestant: Any) -> None:
        self._contestant = contestant
        self._queries = notes.queries(_QUERIES)
        self._asked = 0
        self._new = 0

    def put(self, place: Place, count: int) -> list[float]:
        given = [self._fresh(place) for _ in range(count)]
        return _timed([lambda one=one: self._contestant.put(place, *one) for one in given])

    def get(self, place: Place, count: int) -> list[float]:
        store, namespace = self._contestant.at(place), self._contestant.namespace(place)
        keys = [str(number * 7919 % place.count) for number in range(count)]
        return _timed([lambda key=key: store.get(namespace, key) for key in keys])

    def puts(self, place: Place, count: int) -> list[float]:
        store, namespace = self._contestant.at(place), self._contestant.namespace(place)
        given = [[PutOp(namespace, *self._fresh(place)) for _ in range(_AT_ONCE)] for _ in range(count)]
        return _timed([lambda ops=ops: store.batch(ops) for ops in given])

    def gets(self, place: Place, count: int) -> list[float]:
        store, namespace = self._contestant.at(place), self._contestant.namespace(place)
        given = [
            [GetOp(namespace, str((number * 31 + at) * 7919 % place.count)) for at in range(_AT_ONCE)]
            for number in range(count)
        ]
        return _timed([lambda ops=ops: store.batch(ops) for ops in given])

    def filter(self, place: Place, condition: dict[str, Any], count: int) -> list[float]:
        store, namespace = self._contestant.at(place), self._contestant.namespace(place)
        assert len(store.search(namespace, filter=condition, limit=notes.K)) == notes.K
        return _timed([lambda: store.search(namespace, filter=condition, limit=notes.K)] * count)

    def search(self, places: Sequence[Place], mode: str, count: int) -> list[float]:
        given = [(places[number % len(places)], self._query()) for number in range(count)]
        return _timed([lambda one=one: self._contestant.search(*one, mode) for one in given])

    def after_put(self, place: Place, mode: str, count: int) -> list[float]:
        found = []
        for _ in range(count):
            self._contestant.put(place, *self._fresh(place))
            found += self.search([place], mode, 1)
        return found

    def keys(self, places: Sequence[Place], mode: str, count: int) -> list[list[str]]:
        return [self._contestant.search(place, query, mode) for place in places for query in self._queries[:count]]

    def _fresh(self, place: Place) -> tuple[str, dict[str, Any]]:
        self._new += 1
        return f"new-{self._new}", notes.value(place, place.count + self._new)

    def _query(self) -> str:
        self._asked += 1
        return self._queries[self._asked % _QUERIES]


def _timed(calls: Sequence[Callable[[], object]]) -> list[float]:
    found = []
    for call in calls:
        start = time.perf_counter()
        call()
        found.append((time.perf_counter() - start) * 1000)
    return found


def measure(folder: Path, tell: Callable[[str], None], *, quick: bool) -> list[Row]:
    """Return the rows of all that needs no server."""

    def where(name: str, what: str) -> str:
        return str(folder / f"{name}-{what}.db")

    return [*rows(where, tell, ("sqlite-store", "inmemory-store"), Sizes(quick=quick))]


def rows(
    where: Callable[[str, str], str], tell: Callable[[str], None], peers: Sequence[str], sizes: Sizes
) -> Iterator[Row]:
    """Measure Perdure beside others, of which the first is durable; `where` makes a place for each and each part."""
    tell("items without an index")
    yield from _plain(where, peers, sizes)
    tell("items with an index")
    yield from _indexed(where, tell, peers, sizes)


def _plain(where: Callable[[str, str], str], peers: Sequence[str], sizes: Sizes) -> Iterator[Row]:
    places = [notes.place(count) for count in sizes.filtered]
    plays = {name: (play, name, where(name, "plain"), places, False) for name in ("perdure", *peers)}
    with started(plays) as workers:
        for case, question in _plain_questions(places):
            found = interleave(workers, [question] * (sizes.rounds + 1))
            yield _calls(case, found, peers[0], Target("<=", 1) if question[0] != "filter" else None)


def _plain_questions(places: Sequence[Place]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    last = places[-1]
    yield "get", ("get", last, 200)
    yield f"{_AT_ONCE} gets in a batch", ("gets", last, 10)
    for place in places:
        yield f"filter by equality, {place.count:,} items", ("filter", place, {"kind": "kind-7"}, 10)
        least = sorted(notes.value(place, n)["rank"] for n in range(place.count))[-max(notes.K, place.count // 100)]
        yield f"filter by range, {place.count:,} items", ("filter", place, {"rank": {"$gte": least}}, 10)
    yield "put", ("put", last, 50)
    yield f"{_AT_ONCE} puts in a batch", ("puts", last, 5)


def _indexed(
    where: Callable[[str, str], str], tell: Callable[[str], None], peers: Sequence[str], sizes: Sizes
) -> Iterator[Row]:
    places = [notes.place(count) for count in sizes.searched]
    names = ("perdure", *peers, "floor")
    plays: dict[str, tuple[Any, ...]] = {
        name: (play, name, where(name, "indexed"), [*_affordable(name, places), *sizes.tenants], True) for name in names
    }
    with started(plays) as workers:
        for place in places:
            tell(f"searches, {place.count:,} items")
            yield from _searches(workers, f"{place.count:,} items", [place], sizes)
        tell(f"searches, {_TENANTS}")
        yield from _searches(workers, _TENANTS, sizes.tenants, sizes)
        for place in places:
            count = sizes.repetitions(place.count)
            found = _asked(workers, [place], ("after_put", place), count, sizes.rounds)
            yield _calls(f"search right after a put, {place.count:,} items", found, "floor")
        given = {name: worker for name, worker in workers.items() if name != "floor"}
        found = interleave(given, [("put", places[0], 50)] * (sizes.rounds + 1))
        yield _calls("put with an index", found, peers[0], Target("<=", 1))
    for place in places:
        yield _cold(where, peers, place)


def _affordable(name: str, places: Sequence[Place]) -> list[Place]:
    """Return the places that a contestant is measured with: lists of Python's floats grow too large for memory."""
    return [place for place in places if name != "inmemory-store" or place.count <= _MOST_IN_MEMORY]


def _searches(workers: dict[str, Worker], what: str, places: Sequence[Place], sizes: Sizes) -> Iterator[Row]:
    """Return a search's milliseconds, and how much of what there is it finds."""
    count = sizes.repetitions(places[0].count) if len(places) == 1 else len(places)
    found = _asked(workers, places, ("search", places), count, sizes.rounds)
    target = Target("<=", 1) if what == f"{sizes.target:,} items" else None
    yield _calls(f"search, {what}", found, "floor", target)
    asked = min(20, count) if len(places) == 1 else 1
    keys = {name: one[0] for name, one in _asked(workers, places, ("keys", places), asked, 0).items()}
    truth = keys.pop("floor")
    keys.pop("perdure-hybrid")  # it means to find other items
    whole = [min(notes.K, place.count) for place in places for _ in range(asked)]
    counts = {name: [fmean(len(f) / n for f, n in zip(one, whole, strict=True))] for name, one in keys.items()}
    yield Row(f"items found of those there are, {what}", "share", counts, target=Target(">=", 1))
    recalls = {name: [fmean(map(_overlap, one, truth))] for name, one in keys.items()}
    yield Row(f"recall, {what}", "share", recalls, target=Target(">=", 1))


def _overlap(found: Sequence[str], truth: Sequence[str]) -> float:
    return len({*found} & {*truth}) / len(truth)


def _asked(
    workers: dict[str, Worker], places: Sequence[Place], question: tuple[Any, ...], count: int, rounds: int
) -> Answers:
    """Ask everybody who has the places, ours in both modes, in turn; the first answers only warm up."""
    able = [name for name in workers if [*_affordable(name, places)] == [*places]]
    ways = [(name, workers[name], "vector") for name in able] + [("perdure-hybrid", workers["perdure"], "hybrid")]
    found: Answers = {name: [] for name, _, _ in ways}
    for turn in range(rounds + 1):
        first = turn % len(ways)
        for name, worker, mode in ways[first:] + ways[:first]:
            found[name].append(worker.measure((*question, mode, count)))
    return found


def _calls(case: str, found: Answers, base: str, target: Target | None = None) -> Row:
    """Return a row of the median of each round but the first, which warms up; with the slowest twentieth of calls."""
    rounds = {name: [median(one) for one in answers[1:]] for name, answers in found.items()}
    slow = {name: _slow([ms for one in answers[1:] for ms in one]) for name, answers in found.items()}
    return Row(case, "ms", rounds, base=base, base_name=LABELS[base], target=target, notes={"p95 ms": slow})


def _slow(ms: Sequence[float]) -> float:
    return float(f"{quantiles(ms, n=20)[-1]:.4g}")


def _cold(where: Callable[[str, str], str], peers: Sequence[str], place: Place) -> Row:
    """Return the milliseconds of the first search of a process; a store in memory has nothing then."""
    ways = [("perdure", "perdure", "vector"), ("perdure-hybrid", "perdure", "hybrid"), (peers[0], peers[0], "vector")]
    found: Answers = {label: [[0.0]] for label, _, _ in ways}
    for turn in range(3):
        plays = {label: (play_cold, name, where(name, "indexed"), place, mode) for label, name, mode in ways}
        with started(plays, at_once=len(plays)) as workers:
            for label, _, _ in ways[turn:] + ways[:turn]:
                found[label].append(workers[label].measure())
    return _calls(f"first search of a process, {place.count:,} items", found, peers[0])
