"""The command line as tests run it: in this process, or as the real program."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

from perdure import Memory
from perdure.cli import main


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def data(self):
        assert self.json["ok"], self.out
        return self.json["data"]


@pytest.fixture(autouse=True)
def _no_url_from_outside(monkeypatch):
    monkeypatch.delenv("PERDURE_URL", raising=False)


@pytest.fixture
def run(capsys):
    """Run a command in this process."""

    def call(*args):
        with pytest.raises(SystemExit) as left:
            main(list(map(str, args)))
        captured = capsys.readouterr()
        return Outcome(left.value.code, captured.out, captured.err)

    return call


@pytest.fixture
def program(tmp_path):
    """Run a command as a process of its own."""

    def call(*args, env=None, cwd=tmp_path, stdin=subprocess.DEVNULL):
        inherited = {k: v for k, v in os.environ.items() if k != "PERDURE_URL"}
        done = subprocess.run(
            [sys.executable, "-m", "perdure.cli", *map(str, args)],
            capture_output=True,
            check=False,
            cwd=cwd,
            encoding="utf-8",
            env={**inherited, **(env or {})},
            stdin=stdin,
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'agent.db'}"


@pytest.fixture
def memory(url):
    with Memory.open(url) as opened:
        yield opened
