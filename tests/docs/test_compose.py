"""compose.yaml gives people the PostgreSQL that Perdure is tested with."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/use-postgresql.md"


@pytest.fixture
def service():
    return yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["postgres"]


def test_it_is_postgresql_18_with_pgvector_from_no_registry_of_its_own(service):
    assert service["image"] == "pgvector/pgvector:pg18"


def test_it_asks_for_a_password_and_holds_none(service):
    assert service["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")


def test_it_listens_on_this_machine_only(service):
    assert service["ports"] == ["127.0.0.1:${POSTGRES_PORT:-5432}:5432"]


def test_its_data_outlives_the_container(service):
    (volume,) = service["volumes"]
    name, _, path = volume.partition(":")
    assert name in yaml.safe_load((ROOT / "compose.yaml").read_text())["volumes"]
    assert path == "/var/lib/postgresql", "since 18 the image keeps its data in a folder below"


def test_it_says_when_it_is_ready(service):
    assert "pg_isready" in service["healthcheck"]["test"][1]


def test_it_compares_text_as_the_tests_do(service):
    assert service["environment"]["POSTGRES_INITDB_ARGS"] == "--encoding=UTF8 --locale=C.UTF-8"


def test_the_page_names_the_same_user_database_and_port(service):
    urls = set(re.findall(r"postgresql://[^\s\"?]+", PAGE.read_text()))
    names = service["environment"]
    assert {url.rpartition("@")[2] for url in urls} == {f"localhost:5432/{names['POSTGRES_DB']}"}
    assert f"postgresql://{names['POSTGRES_USER']}@localhost:5432/{names['POSTGRES_DB']}" in urls
