"""URLs of PostgreSQL: every form that libpq takes, and no password of one is ever shown."""

from __future__ import annotations

import traceback
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from psycopg import conninfo, sql

from perdure import Memory, errors
from perdure.engine import servers, urls

SECRET = "p@s/s:w%rd#?&=x"  # noqa: S105
SPELLED = quote(SECRET, safe="")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secret@h/d", "postgresql://u:***@h/d"),
        ("postgres://u:secret@[::1]:5433/d?sslmode=disable", "postgres://u:***@[::1]:5433/d?sslmode=disable"),
        ("postgresql://u:secret@a:1,b:2/d?options=x@y", "postgresql://u:***@a:1,b:2/d?options=x@y"),
        (f"postgresql://u:{SPELLED}@h/d", "postgresql://u:***@h/d"),
        ("postgresql://h/d?user=u&password=secret", "postgresql://h/d?user=u&password=***"),
        ("postgresql://h/d?pass%77ord=secret&sslpassword=secret", "postgresql://h/d?pass%77ord=***&sslpassword=***"),
        ("postgresql://u@h:5432/d", "postgresql://u@h:5432/d"),
        ("postgresql:///d?host=%2Ftmp&service=mine", "postgresql:///d?host=%2Ftmp&service=mine"),
        ("postgresql://u:secret/@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:se@cret@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:secret?#@h/d", "postgresql://u:***@h/d"),
        ("host=h password=secret user=u", "host=h password=*** user=u"),
        (r"host=h password = 'se\'cret x' user=u", "host=h password = *** user=u"),
        ("mysql://u:secret@h/d", "mysql://u:***@h/d"),
        ("sqlite:///folder/agent.db?timeout=1", "sqlite:///folder/agent.db?timeout=1"),
    ],
)
def test_a_url_is_shown_without_its_password(url, shown):
    assert urls.hidden(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret%zz@h/d",
        "postgresql://u:secret x@h/d",
        "postgresql://u:secret@[::1/d",
        "postgresql://u:secret/x@h/d",
        "postgresql://u:x@secret@h/d",
        "postgresql://u:secret@h/d?nothing=1",
        "postgresql+psycopg://u:secret@h/d",
        "mysql://u:secret@h/d",
        "host=h password=secret",
    ],
)
def test_a_url_that_is_wrong_is_refused_without_its_password(url):
    with pytest.raises(errors.InvalidUrlError) as caught:
        Memory.open(url)
    assert "write" in str(caught.value) or "percent-encoded" in str(caught.value)
    assert "secret" not in "".join(traceback.format_exception(caught.value)).replace(repr(url), "")


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("postgresql://u@[::1]:5433/d", {"host": "::1", "port": "5433", "dbname": "d"}),
        (f"postgresql://u:{SPELLED}@h/d", {"password": SECRET}),
        ("postgres://a:1,[::1]:2/d", {"host": "a,::1", "port": "1,2"}),
        ("postgresql:///?service=mine", {"service": "mine"}),
        ("postgresql://h/d?connect_timeout=3&application_name=mine", {"connect_timeout": "3"}),
        ("postgresql://u%40corp@h/d%40x", {"user": "u@corp", "dbname": "d@x"}),
    ],
)
def test_what_a_url_says_reaches_the_driver(url, parts):
    found = conninfo.conninfo_to_dict(servers.Server(url, None, {}).conninfo)
    assert {name: found[name] for name in parts} == parts


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A server that asks for passwords: its socket's folder, its port, and a role of a hard password."""
    from tests import servers as places  # noqa: PLC0415 - the other module of this name is Perdure's

    folder = places.HOME / "own-urls"
    with places.Server(folder, tcp=True) as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            statement = sql.SQL("CREATE ROLE app LOGIN SUPERUSER PASSWORD {}")
            connection.execute(statement.format(sql.Literal(SECRET)))
        parts = urlsplit(server.url())
        yield {"port": server.port, "socket": parts.query.split("&")[0].removeprefix("host=")}


@pytest.mark.filterwarnings("ignore::perdure.errors.UnsafeRoleWarning")
@pytest.mark.parametrize(
    "form",
    [
        "postgresql://app:{secret}@127.0.0.1:{port}/postgres",
        "postgres://app:{secret}@localhost:{port}/postgres",
        "postgresql:///postgres?host=127.0.0.1&port={port}&user=app&password={secret}",
        "postgresql://app:{secret}@127.0.0.1:1,127.0.0.1:{port}/postgres",
        "postgresql://app@/postgres?host={socket}&port={port}",
        "postgresql:///?service=perdure",
    ],
)
def test_every_form_of_url_opens_and_shows_no_password(place, form, monkeypatch, tmp_path):
    service = f"[perdure]\nhost=127.0.0.1\nport={place['port']}\nuser=app\ndbname=postgres\npassword={SECRET}\n"
    (tmp_path / "services").write_text(service)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    url = form.format(secret=SPELLED, **place)
    with Memory.open(url) as memory:
        memory.store.put(("n",), "k", {"x": 1})
        assert memory.store.get(("n",), "k").value == {"x": 1}
        for said in (memory.url, repr(memory), repr(memory.engine), str(memory.engine.check())):
            assert SECRET not in said
            assert SPELLED not in said


def test_a_wrong_password_is_told_without_it(place):
    with pytest.raises(errors.DatabaseUnavailableError, match="password authentication failed") as caught:
        Memory.open(f"postgresql://app:wr%3Aong@127.0.0.1:{place['port']}/postgres")
    said = "".join(traceback.format_exception(caught.value))
    assert "wr:ong" not in said
    assert "wr%3Aong" not in str(caught.value)


def test_a_server_that_is_not_there_is_told_with_where_it_was_looked_for():
    with pytest.raises(errors.DatabaseUnavailableError, match=r"127\.0\.0\.1.*check the address"):
        Memory.open("postgresql://u:secret@127.0.0.1:1/d")
