"""The version of a state goes where its thread goes."""

import pytest
from tests.shapes import deployed, stored
from tests.support import config, put, values_of

from perdure import Memory
from perdure.moving import OpaqueCodec, OurSource, OurTarget, move


@pytest.fixture
def two_versions(ours):
    """A thread whose first state is of version 1, and the second of version 2."""
    first = put(ours.checkpointer, config("t1"), {"n": 1})
    put(deployed(ours, 2).checkpointer, first, {"n": 2})
    return ours


def versions(memory):
    read = deployed(memory, 2, {1: dict}).checkpointer.list(config("t1"))
    return [stored(memory, "t1", found.config["configurable"]["checkpoint_id"])[0] for found in read]


def test_a_database_of_ours_takes_it_along(two_versions, tmp_path):
    with Memory.open(f"sqlite:///{tmp_path}/other.db") as other:
        codec = OpaqueCodec()
        report = move(OurSource(two_versions, codec, None), OurTarget(other, codec, None))
        assert (report.failures, versions(other)) == ([], [2, 1])


@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_it_survives_a_stay_with_a_stock_saver(kind, two_versions, tmp_path, give_back, take_in, request):
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else f"sqlite:///{tmp_path}/stock.db"
    assert give_back(two_versions, url).failures == []
    with Memory.open(f"sqlite:///{tmp_path}/other.db") as other:
        assert take_in(url, other).failures == []
        assert versions(other) == [2, 1]
        newest = deployed(other, 3, {2: lambda state: {"n": state["n"] * 10}})
        assert values_of(newest.checkpointer, config("t1")) == {"n": 20}
