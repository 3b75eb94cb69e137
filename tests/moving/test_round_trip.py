"""Threads and items come over from LangGraph's own savers and stores, go on here, and go back."""

import pytest
from langgraph.types import Command
from tests.moving import graphs, peer
from tests.moving.conftest import THREADS

from perdure import Memory
from perdure.moving import OpaqueCodec, OurSource, OurTarget, move


def clean(report, items=3):
    assert report.failures == []
    assert (report.counts.threads, report.counts.items) == (len(THREADS), items)


@pytest.fixture(params=["file", "postgres"])
def stock(request):
    return request.getfixturevalue(f"stock_{request.param}")


@pytest.fixture(params=["file_url", "application_url"], ids=["file", "postgres"])
def memory(request):
    with Memory.open(request.getfixturevalue(request.param)) as opened:
        yield opened


def test_all_that_stock_savers_kept_comes_over_equal_and_goes_on(stock, ours, take_in, states_of):
    clean(take_in(stock, ours))
    states, items, gone_on = peer.ask("states,items,go_on", stock, *THREADS)
    assert states_of(ours) == states
    assert peer.items(ours.store) == items
    with Memory.open(ours.url, types=graphs.TYPES) as memory:
        assert graphs.go_on(memory.checkpointer) == gone_on


def test_it_comes_over_into_postgresql_too(stock_file, memory, take_in, states_of, expected):
    clean(take_in(stock_file, memory, tenant="acme"))
    assert states_of(memory, tenant="acme") == expected[0]
    assert memory.threads.list().threads == ()


@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_it_goes_back_equal_and_goes_on_there(kind, stock_file, ours, take_in, give_back, request, expected):
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else stock_file.replace("stock", "back")
    take_in(stock_file, ours)
    clean(give_back(ours, url))
    assert peer.ask("states,items,go_on", url, *THREADS) == expected
    again = give_back(ours, url)
    assert (again.failures, again.counts.threads, again.counts.threads_there) == ([], 0, len(THREADS))
    assert again.counts.items_there == 3


def by_namespace(states):
    found = {}
    for state in states:
        found.setdefault((state["thread"], state["ns"]), []).append((state["id"], state["parent"]))
    return found


def test_what_was_begun_here_goes_back_and_goes_on_there(ours, give_back, tmp_path):
    url = f"sqlite:///{tmp_path}/back.db"
    with Memory.open(ours.url, types=graphs.TYPES) as memory:
        graphs.begin(memory.checkpointer)
        assert give_back(memory, url, types=graphs.TYPES).failures == []
        here = peer.states(memory.checkpointer, graphs.BUILDERS)
    there, _ = peer.ask("states,go_on", url, *graphs.BUILDERS)
    assert by_namespace(here) == by_namespace(there)


def test_a_class_that_is_named_comes_over_as_itself(stock_file, ours, take_in):
    clean(take_in(stock_file, ours, types=graphs.TYPES))
    with Memory.open(ours.url, types=graphs.TYPES) as memory:
        values = memory.checkpointer.get_tuple(graphs.config("wide")).checkpoint["channel_values"]
    assert type(values["trip"].legs[1]) is graphs.Leg
    assert values["values"][0] == graphs.Point(1.5, {"pair": graphs.Pair(1, "r"), "mood": graphs.Mood.GOOD})


def test_the_catalogue_says_of_an_imported_thread_what_it_would_of_our_own(stock_file, ours, take_in):
    take_in(stock_file, ours)
    shown = {thread.id: thread for thread in ours.threads.list().threads}
    assert shown["approval"].status == shown["nested"].status == "interrupted"
    assert (shown["talk"].status, shown["talk"].turns, shown["talk"].title) == ("idle", 3, "turn 0 咖啡")
    oldest, newest = [*ours.checkpointer.list(graphs.config("talk"))][:: shown["talk"].checkpoints - 1][::-1]
    assert shown["talk"].created_at.isoformat() == oldest.checkpoint["ts"]
    assert shown["talk"].updated_at.isoformat() == newest.checkpoint["ts"]


def test_threads_move_between_our_own_engines_with_all_that_is_known_of_them(stock_file, ours, memory, take_in):
    take_in(stock_file, ours)
    ours.threads.rename("talk", "Tea")
    ours.threads.tag("talk", add=["a", "b"])
    ours.scope(subject="ann").store.put(("own",), "k", {"tuple": (1, {2}), "n": 1}, ttl=5)
    codec = OpaqueCodec()
    clean(move(OurSource(ours, codec, None), OurTarget(memory, codec, None)), items=4)

    def rest(thread):
        return (thread.id, thread.title, thread.tags, thread.status, thread.created_at, thread.updated_at, thread.turns)

    listed = [[rest(thread) for thread in m.threads.list().threads] for m in (ours, memory)]
    assert listed[0] == listed[1]
    assert ours.store.search(()) == memory.store.search(())
    back = move(OurSource(memory, codec, None), OurTarget(ours, codec, None))
    assert (back.failures, back.counts.threads_there, back.counts.items_there) == ([], len(THREADS), 4)


def test_only_the_threads_that_are_named_are_moved(stock_file, ours, take_in):
    report = take_in(stock_file, ours, threads=["talk", "nobody", "talk"])
    assert (report.counts.threads, report.counts.items) == (1, 0)
    assert [failure.error.code for failure in report.failures] == ["not_found"]
    assert [thread.id for thread in ours.threads.list().threads] == ["talk"]


def test_a_thread_whose_versions_are_whole_numbers_goes_on_with_them(stock_file, ours, take_in):
    take_in(stock_file, ours)
    agents = [(graphs.approval(ours.checkpointer), graphs.config(name)) for name in ("approval", "integers")]
    for answer in ("yes", "no"):
        said = [agent.invoke(Command(resume=answer), config).get("seen") for agent, config in agents]
        assert said[0] == said[1]
    versions = ours.checkpointer.get_tuple(graphs.config("integers")).checkpoint["channel_versions"]
    assert {type(version) for version in versions.values()} == {int}
