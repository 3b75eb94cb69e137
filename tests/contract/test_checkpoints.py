"""What a saver must do beyond LangGraph's conformance suite."""

from __future__ import annotations

import dataclasses
import threading

import pytest
from tests import inside
from tests.support import checkpoint, config, metadata, put, task, values_of

from perdure import Memory, errors


def test_a_put_on_another_thread_finishes_while_a_listing_is_open(memory):
    saver = memory.checkpointer
    parent = config("a")
    for step in range(5):
        parent = put(saver, parent, {"n": step}, step=step)
    listing = saver.list(config("a"))
    next(listing)
    done = threading.Event()
    worker = threading.Thread(target=lambda: (put(saver, config("b"), {"n": 1}), done.set()), daemon=True)
    worker.start()
    assert done.wait(10)
    assert len(list(listing)) == 4


def test_two_children_of_one_parent_with_equal_versions_keep_their_own_values(saver):
    parent = put(saver, config(), {"n": ["0"]}, versions={"n": 1})
    a = put(saver, parent, {"n": ["0", "A"]}, versions={"n": 2})
    b = put(saver, parent, {"n": ["0", "B"]}, versions={"n": 2})
    assert values_of(saver, a) == {"n": ["0", "A"]}
    assert values_of(saver, b) == {"n": ["0", "B"]}


@pytest.mark.parametrize("early", [True, False])
def test_a_repeated_write_keeps_its_first_value_and_a_special_one_its_last(saver, early):
    made = checkpoint({"n": 1})
    where = config(checkpoint=made["id"])
    if not early:
        saver.put(config(), made, metadata(), {"n": 1})
    saver.put_writes(where, [("n", "first"), ("__error__", "e1")], "task", "~path")
    if early:
        assert saver.get_tuple(where) is None, "writes alone make no checkpoint"
        saver.put(config(), made, metadata(), {"n": 1})
    saver.put_writes(where, [("n", "second"), ("__error__", "e2")], "task", "~path")
    saver.put_writes(where, [("n", "first"), ("__error__", "e2")], "task", "~path")
    found = saver.get_tuple(where).pending_writes
    assert sorted(found) == [("task", "__error__", "e2"), ("task", "n", "first")]


def test_pending_writes_come_in_the_order_of_their_task_paths(saver):
    where = put(saver, config(), {"n": 1})
    for path, name in [("~push, 2", "a"), ("~push, 0", "c"), ("~push, 1", "b")]:
        saver.put_writes(where, [("n", name), ("m", name)], task(), path)
    assert [value for _, _, value in saver.get_tuple(where).pending_writes] == ["c", "c", "b", "b", "a", "a"]


@pytest.mark.parametrize("wrong", [7, True, {"$gt": ""}, ["a"], "", "x" * 300, "a\0b", "a\nb", "\ud800", 1.5])
def test_an_id_that_is_no_printable_text_is_refused(memory, styled, wrong):
    saver, catalogue = styled(memory.checkpointer), styled(memory.threads)
    with pytest.raises(errors.InvalidIdError):
        saver.get_tuple(config(wrong))
    with pytest.raises(errors.InvalidIdError):
        put(saver, config(wrong), {"n": 1})
    with pytest.raises(errors.InvalidIdError):
        saver.put_writes(config(wrong, "x"), [("n", 1)], "task")
    with pytest.raises(errors.InvalidIdError):
        saver.delete_thread(wrong)
    with pytest.raises(errors.InvalidIdError):
        catalogue.get(wrong)
    with pytest.raises(errors.InvalidIdError):
        saver.get_tuple(config("t1", tenant_id=wrong))
    assert catalogue.list().threads == ()


def test_a_config_without_a_thread_says_what_to_pass(saver):
    with pytest.raises(errors.MissingThreadIdError, match="thread_id"):
        saver.get_tuple({"configurable": {}})
    with pytest.raises(errors.MissingThreadIdError):
        saver.get_tuple({"configurable": {"thread_id": None}})


@pytest.mark.parametrize("limit", [-1, True, 1.5, "3", 2**63])
def test_a_limit_that_is_no_count_is_a_value_error(memory, styled, limit):
    with pytest.raises(ValueError, match="limit"):
        styled(memory.checkpointer).list(config(), limit=limit)
    with pytest.raises(ValueError, match="limit"):
        styled(memory.threads).list(limit=limit)


def test_the_latest_is_the_last_that_was_written_whatever_clocks_say(memory, styled):
    saver = styled(memory.checkpointer)
    ahead = checkpoint({"n": "ahead"})
    behind = checkpoint({"n": "behind"}, ts="2001-01-01T00:00:00+00:00")
    ahead["id"], behind["id"] = "1fffffff-0000-6000-8000-000000000000", "1e000000-0000-6000-8000-000000000000"
    first = saver.put(config(), ahead, metadata(), {"n": 1})
    saver.put(first, behind, metadata(step=1), {"n": 1})
    assert values_of(saver, config()) == {"n": "behind"}
    assert [found.checkpoint["id"] for found in saver.list(config())] == [behind["id"], ahead["id"]]


def test_a_clock_set_back_an_hour_keeps_the_order(url, styled):
    with Memory.open(url) as memory:
        calls = memory.checkpointer._calls
        put(styled(memory.checkpointer), config("a"), {"n": 1})
        # A fake clock, an hour behind.
        late = type(memory)(dataclasses.replace(calls, clock=lambda: calls.clock() - 3_600_000_000))
        head = styled(late.checkpointer).get_tuple(config("a")).config
        put(styled(late.checkpointer), head, {"n": 2}, step=1)
        assert values_of(styled(memory.checkpointer), config("a")) == {"n": 2}
        thread = memory.threads.get("a")
        assert thread.updated_at >= thread.created_at


# The fence


def test_a_step_of_a_deleted_thread_is_refused_and_the_thread_stays_gone(memory, saver):
    head = put(saver, config(), {"n": 1})
    saver.delete_thread("t1")
    with pytest.raises(errors.FencedError, match="new run"):
        put(saver, head, {"n": 2}, step=1)
    assert memory.threads.get("t1") is None
    assert saver.get_tuple(config()) is None


def test_writes_for_a_deleted_checkpoint_are_seen_by_nobody_and_expire(memory, styled):
    saver = styled(memory.checkpointer)
    head = put(saver, config(), {"n": 1})
    saver.delete_thread("t1")
    saver.put_writes(head, [("n", 2)], "task")
    assert saver.get_tuple(config()) is None
    assert memory.threads.list().threads == ()
    assert staged(memory) == 1
    calls = memory.checkpointer._calls
    tomorrow = type(memory)(dataclasses.replace(calls, clock=lambda: calls.clock() + 25 * 3_600_000_000))
    put(styled(tomorrow.checkpointer), config("other"), {"n": 1})
    styled(tomorrow.checkpointer).put_writes(config("other", "not-there-yet"), [("n", 2)], "task")
    assert staged(memory) == 1, "only the new one is left"


def staged(memory):
    return inside.value(memory, "SELECT count(*) FROM staged_writes")


def test_a_run_that_had_read_a_deleted_thread_can_not_bring_it_back(saver):
    put(saver, config(), {"n": 1})
    saver.get_tuple(config())
    saver.delete_thread("t1")
    with pytest.raises(errors.FencedError):
        put(saver, config(), {"n": 2})
    with pytest.raises(errors.FencedError):
        put(saver, config(ns="child:1"), {"n": 2})


def test_a_new_run_begins_a_deleted_thread_anew(memory, saver):
    put(saver, config(), {"n": 1})
    saver.get_tuple(config())
    saver.delete_thread("t1")
    assert saver.get_tuple(config()) is None
    put(saver, config(), {"n": 2})
    assert [found.checkpoint["channel_values"] for found in saver.list(config())] == [{"n": 2}]
    assert memory.threads.get("t1").checkpoints == 1


def test_a_deleted_thread_leaves_no_row_behind(memory, saver):
    put(saver, config("keep"), {"n": ["kept " * 100]})
    before = inside.counts(memory)
    head = put(saver, config(), {"n": ["x" * 500, "y" * 500]})
    saver.put_writes(head, [("n", ["z" * 500])], "task")
    put(saver, config(ns="child:1"), {"n": ["x" * 500]})
    memory.threads.tag("t1", add=["tagged"])
    saver.delete_thread("t1")
    assert inside.counts(memory) == before


# Listing


def test_a_metadata_filter_compares_whole_values(saver):
    put(saver, config(), {"n": 1}, d={"a": 1, "b": 2}, **{"a'b": 1, "ключ": "да", "flag": True})
    found = lambda wanted: len(saver.list(config(), filter=wanted))  # noqa: E731
    assert found({"d": {"a": 1, "b": 2}}) == 1
    assert found({"d": {"a": 1}}) == 0
    assert found({"a'b": 1}) == 1
    assert found({"ключ": "да"}) == 1
    assert found({"flag": True}) == 1
    assert found({"flag": 1}) == 0
    assert found({"missing": None}) == 0
    assert found({"x') OR '1'='1": 1}) == 0
    assert found({"step": {"$gt": ""}}) == 0


def test_a_long_history_is_listed_whole_newest_first_across_pages(saver):
    parent = config()
    for step in range(150):
        parent = put(saver, parent, {"n": step}, step=step)
    assert [found.metadata["step"] for found in saver.list(config())] == list(reversed(range(150)))
    assert [found.metadata["step"] for found in saver.list(config(), limit=70)] == list(reversed(range(80, 150)))


def test_a_listing_without_a_thread_shows_all_threads_of_the_tenant_only(memory, styled):
    for tenant, thread in [("default", "a"), ("default", "b"), ("acme", "c")]:
        put(styled(memory.checkpointer), config(thread, tenant_id=tenant), {"n": thread})
    found = styled(memory.checkpointer).list(None)
    assert {item.config["configurable"]["thread_id"] for item in found} == {"a", "b"}


def test_a_listing_of_one_checkpoint_keeps_to_its_conditions(saver):
    first = put(saver, config(), {"n": 1})
    second = put(saver, first, {"n": 2}, step=1)
    child = put(saver, config(ns="child:1"), {"c": 1})
    one = {"configurable": {"thread_id": "t1", "checkpoint_id": child["configurable"]["checkpoint_id"]}}
    assert [found.config["configurable"]["checkpoint_ns"] for found in saver.list(one)] == ["child:1"]
    assert len(saver.list(first, before=second)) == 1
    assert saver.list(second, before=second) == []
    assert saver.list(second, before=first) == []


@pytest.mark.parametrize("call", ["prune", "delete_for_runs"])
def test_a_string_is_no_list_of_ids(saver, call):
    put(saver, config("a"), {"n": 1}, run_id="b")
    with pytest.raises(errors.InvalidInputError, match="list"):
        getattr(saver, call)("ab")
    assert saver.get_tuple(config("a")) is not None


@pytest.mark.parametrize("odd", [{"type": ["string", "null"], "content": "x"}, (["a"], "b"), 7, {"role": {}}])
def test_a_first_message_of_any_form_is_no_obstacle(memory, saver, odd):
    put(saver, config(), {"messages": [odd]}, source="input", step=-1)
    assert memory.threads.get("t1").title is None


def test_before_a_parents_checkpoint_means_before_the_step_that_called_the_subgraph(saver):
    """A slow save: the parent's checkpoint lands after those its subgraph made in the step that it begins."""
    first = put(saver, config(), {"n": 1}, step=0)
    one = first["configurable"]["checkpoint_id"]
    second = checkpoint({"n": 2})
    early = checkpoint({"c": 1})
    late = checkpoint({"c": 2})
    saver.put(config(ns="sub"), early, {**metadata(), "parents": {"": one}}, {"c": 1})
    saver.put(config(ns="sub", checkpoint=early["id"]), late, {**metadata(1), "parents": {"": second["id"]}}, {"c": 1})
    saver.put(first, second, metadata(1), {"n": 1})
    before = config(checkpoint=second["id"])
    found = saver.list(config(ns="sub"), before=before, limit=1)
    assert [item.checkpoint["id"] for item in found] == [early["id"]]


def test_a_channel_is_taken_over_only_if_the_parent_has_the_same_version_of_it(saver):
    grandparent = put(saver, config(), {"n": "old"}, versions={"n": 1})
    put(saver, grandparent, {"n": "new"}, versions={"n": 2})
    copied = checkpoint({"n": "new"}, {"n": 2})
    where = saver.put(grandparent, copied, metadata(source="fork"), {})
    assert values_of(saver, where) == {"n": "new"}


def test_versions_keep_the_width_of_the_thread_they_go_on_in(memory):
    saver = memory.checkpointer
    assert len(saver.get_next_version(None, None).partition(".")[0]) == 32
    assert saver.get_next_version("00000007.0.123", None).startswith("00000008.")
    stock = "00000000000000000000000000000009.0.5488135039273248"
    assert saver.get_next_version(stock, None) > stock
    assert saver.get_next_version(9, None) == 10, "LangGraph compares it with those of the other channels"
    assert saver.get_next_version(stock, None) != saver.get_next_version(stock, None)


# Tenants


def test_tenants_see_nothing_of_each_other(memory, styled):
    saver = styled(memory.checkpointer)
    for tenant in ("acme", "acme-corp", "ACME"):
        put(saver, config("same", tenant_id=tenant), {"who": tenant})
    for tenant in ("acme", "acme-corp", "ACME"):
        assert values_of(saver, config("same", tenant_id=tenant)) == {"who": tenant}
        bound = memory.scope(tenant=tenant)
        assert values_of(styled(bound.checkpointer), config("same")) == {"who": tenant}
        assert [thread.id for thread in bound.threads.list().threads] == ["same"]
    assert saver.get_tuple(config("same")) is None
    memory.scope(tenant="acme").checkpointer.delete_thread("same")
    assert values_of(saver, config("same", tenant_id="ACME")) == {"who": "ACME"}


def test_a_run_can_not_leave_the_tenant_its_view_is_bound_to(memory):
    with pytest.raises(errors.InvalidIdError, match="bound to 'acme'"):
        memory.scope(tenant="acme").checkpointer.get_tuple(config(tenant_id="other"))


def test_a_view_can_not_be_widened_again(memory):
    view = memory.scope(tenant="acme", subject="u1")
    assert view.scope(tenant="acme").url == memory.url
    with pytest.raises(errors.InvalidIdError, match="bound to 'acme'"):
        view.scope(tenant="other")
    with pytest.raises(errors.InvalidIdError, match="bound to 'u1'"):
        view.scope(subject="u2")
    with pytest.raises(errors.InvalidIdError, match="bound to 'u1'"):
        put(view.checkpointer, config(subject_id="u2"), {"n": 1})


def test_a_call_without_a_tenant_is_refused_where_one_is_required(url):
    with Memory.open(url, tenants="required") as memory:
        with pytest.raises(errors.InvalidIdError, match="tenant"):
            memory.checkpointer.get_tuple(config())
        with pytest.raises(errors.InvalidIdError, match="tenant"):
            memory.threads.list()
        assert memory.checkpointer.get_tuple(config(tenant_id="acme")) is None


def test_the_tenant_and_subject_of_a_config_go_on_in_those_that_come_back(saver):
    saved = put(saver, config(tenant_id="acme", subject_id="u1"), {"n": 1})
    assert saved["configurable"]["tenant_id"] == "acme"
    found = saver.get_tuple(saved)
    assert found.config["configurable"]["subject_id"] == "u1"
    child = put(saver, found.config, {"n": 2}, step=1)
    assert saver.get_tuple(child).parent_config["configurable"]["tenant_id"] == "acme"


def test_a_checkpoint_that_is_put_again_can_not_follow_itself_or_a_later_one(memory, saver):
    first = put(saver, config(), {"x": 1})
    made = checkpoint({"x": 2}, {"x": 2})
    second = saver.put(first, made, metadata(1), {"x": 2})
    third = put(saver, second, {"x": 3}, versions={"x": 3})
    for where in (second, third):
        with pytest.raises(errors.InvalidInputError, match="can't follow"):
            saver.put(where, made, metadata(1), {"x": 2})
    saver.put(first, made, metadata(1), {"x": 2})
    assert saver.get_tuple(second).parent_config == first
    saver.prune(["t1"])
    assert values_of(saver, config()) == {"x": 3}


@pytest.mark.parametrize(("odd", "also"), [("\0", "\0"), ("\x07", "\x07"), ("\ud800", "\0")])
def test_what_no_id_may_hold_is_left_out_of_a_title_and_no_run_has_it(memory, saver, odd, also):
    put(
        saver,
        config(),
        {"messages": [("user", f"say{odd} it")]},
        step=-1,
        run_id="r" + ("\0" if odd != "\x07" else odd),
    )
    assert memory.threads.get("t1").title == "say it"
    saver.delete_for_runs(["r"])
    assert saver.get_tuple(config()) is not None


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_channel_with_a_nul_in_its_name_is_refused_and_not_cut_off(saver):
    with pytest.raises(errors.UnsupportedValueError, match="NUL"):
        put(saver, config(), {"a": "x" * 900, "a\0b": "y" * 900})
    assert saver.get_tuple(config()) is None
