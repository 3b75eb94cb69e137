"""`perdure items` on real files."""

import pytest
from pydantic import BaseModel

from perdure import Memory


class Fact(BaseModel):
    text: str


def test_an_item_is_put_read_listed_and_removed(run, memory, url):
    assert run("items", "put", "a/b", "k", '{"text": "茶"}', "--db", url).code == 0
    assert run("items", "get", "a/b", "k", "--db", url).out == '{\n  "text": "茶"\n}\n'
    (listed,) = run("items", "ls", "a", "--db", url, "--json").data
    assert (listed["namespace"], listed["key"], listed["value"]) == (["a", "b"], "k", {"text": "茶"})
    assert memory.store.get(("a", "b"), "k").value == {"text": "茶"}
    assert run("items", "rm", "a/b", "k", "--db", url, "--yes").out == "removed: a/b k\n"
    assert memory.store.get(("a", "b"), "k") is None


@pytest.mark.parametrize("given", [["ls", '["a/b"]'], ["ls", "--ns", "a/b"]])
def test_a_label_may_hold_a_slash(run, memory, url, given):
    memory.store.put(("a/b", "c"), "k", {"x": 1})
    memory.store.put(("a", "b"), "k", {"x": 2})
    (listed,) = run("items", *given, "--db", url, "--json").data
    assert listed["namespace"] == ["a/b", "c"]
    assert '["a/b", "c"]' in run("items", *given, "--db", url).out
    assert run("items", "get", '["a/b", "c"]', "k", "--db", url, "--json").data["value"] == {"x": 1}


def test_items_are_listed_page_by_page(run, memory, url):
    for number in range(5):
        memory.store.put(("n",), f"k{number}", {"x": number})
    seen, cursor = [], "0"
    while cursor:
        page = run("items", "ls", "n", "--db", url, "--json", "--limit", 2, "--cursor", cursor).json
        seen += [item["key"] for item in page["data"]]
        cursor = page["next"]
    assert seen == ["k4", "k3", "k2", "k1", "k0"]
    assert run("items", "ls", "--db", url, "--cursor", "-1").code != 0
    assert run("items", "ls", "--db", url, "--cursor", "x", "--json").json["error"]["code"] == "invalid_cursor"


def test_a_value_may_come_from_stdin(program, memory, url, tmp_path):
    (tmp_path / "value.json").write_text('{"x": [1, 2]}')
    with (tmp_path / "value.json").open() as stdin:
        assert program("items", "put", "n", "k", "-", "--db", url, stdin=stdin).code == 0
    assert memory.store.get(("n",), "k").value == {"x": [1, 2]}


def test_an_item_may_have_an_end(run, memory, url):
    assert run("items", "put", "n", "k", "{}", "--ttl", "60", "--db", url).code == 0
    assert memory.engine._connection.execute("SELECT ttl FROM items").get == 3_600_000_000
    assert run("items", "put", "n", "k", "{}", "--ttl", "0", "--db", url).code == 1
    assert run("items", "put", "n", "k", "{}", "--db", url).code == 0
    assert memory.store.get(("n",), "k").expires_at is None
    memory.store.set_policy(("n",), ttl=5)
    assert run("items", "put", "n", "k", "{}", "--db", url).code == 0
    assert memory.engine._connection.execute("SELECT ttl FROM items").get == 300_000_000


@pytest.mark.parametrize("value", ["{", "[1]", "1", '"text"', '{"x": NaN}'])
def test_a_value_that_is_no_object_is_refused(run, memory, url, value):
    done = run("items", "put", "n", "k", value, "--db", url, "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "usage")
    assert memory.store.count() == 0


@pytest.mark.parametrize(
    ("namespace", "code"), [("", "invalid_namespace"), ("a//b", "invalid_namespace"), ("[1]", "invalid_namespace")]
)
def test_a_namespace_that_can_not_be_is_refused(run, memory, url, namespace, code):
    done = run("items", "put", namespace, "k", "{}", "--db", url, "--json")
    assert done.json["error"]["code"] == code


def test_a_namespace_is_named_once(run, memory, url):
    assert run("items", "ls", "a", "--ns", "b", "--db", url).code == 2


@pytest.mark.parametrize("command", ["get", "rm"])
def test_an_item_that_is_not_there_is_one_sentence(run, memory, url, command):
    done = run("items", command, "n", "k", "--db", url, "--json")
    assert (done.code, done.json["error"]["status"]) == (1, 404)


def test_removing_needs_a_yes_and_can_be_tried(run, memory, url):
    memory.store.put(("n",), "k", {"x": 1})
    assert run("items", "rm", "n", "k", "--db", url, "--json").code == 2
    assert run("items", "rm", "n", "k", "--db", url, "--dry-run").out == "would be removed: n k\n"
    assert memory.store.get(("n",), "k") is not None


def test_an_item_of_a_class_that_is_not_there_is_shown(program, url):
    with Memory.open(url) as memory:
        memory.store.put(("n",), "k", {"fact": Fact(text="brief")})
    done = program("items", "get", "n", "k", "--db", url)
    assert done.code == 0
    assert "test_items:Fact" in done.out
    assert "brief" in done.out


def test_a_tenant_has_its_own_items(run, memory, url):
    assert run("items", "put", "n", "k", "{}", "--db", url, "--tenant", "acme").code == 0
    assert run("items", "ls", "--db", url, "--json").data == []
    assert len(run("items", "ls", "--db", url, "--tenant", "acme", "--json").data) == 1
