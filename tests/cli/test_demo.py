"""`perdure demo`: three processes, one file, and expectations that fail when memory does."""

import http.server
import json
import shlex
import sys
import threading
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from perdure import Memory, PerdureError, errors
from perdure.cli import demo_agent, demo_steps
from perdure.cli.commands import Run
from perdure.cli.demo import STAND_IN
from perdure.cli.demo_model import StandInModel
from perdure.langgraph.store import Store


def play(step, memory, language="en"):
    stage = demo_steps.begin(step)
    plan = demo_steps.Plan(STAND_IN, None, language)
    demo_steps.play(stage, plan, memory, Run("demo", tenant="demo").calls(memory))
    return stage


@pytest.fixture
def demo_memory():
    with Memory.open("sqlite://", tenant="demo") as memory:
        yield memory


def test_the_demo_runs_in_three_processes_and_finds_what_was_kept(program, url):
    done = program("demo", "--db", url)
    assert done.code == 0, done.err
    pids = {line.split("process ")[1].split(":")[0] for line in done.out.splitlines() if line.startswith("Step ")}
    assert len(pids) == 3
    assert "stand-in for a language model" in done.out
    assert "Your name is Ada." in done.out
    assert "You prefer jasmine tea." in done.out
    assert "I don't know what you prefer." in done.out
    assert "+ messages[" in done.out


def test_the_demo_speaks_chinese_and_json_and_names_the_file_it_makes_by_itself(program, tmp_path):
    done = program("demo", "--json", "--lang", "zh", env={"TMPDIR": str(tmp_path)})
    assert done.code == 0, done.err
    path = Path(done.data["db"].removeprefix("sqlite:///"))
    assert path.is_file()
    assert tmp_path in path.parents
    steps = done.data["steps"]
    assert len({step["pid"] for step in steps}) == 3
    answers = [turn["messages"][-1]["content"] for turn in steps[1]["turns"]]
    assert answers == ["你叫小雅。", "我不知道你的名字。", "你喜欢茉莉花茶。", "我不知道你喜欢什么。"]
    assert [{k: i[k] for k in ("namespace", "key", "value")} for i in steps[2]["items"]] == [
        {"namespace": ["preferences", "user-001"], "key": "茉莉花茶", "value": {"text": "茉莉花茶"}}
    ]


def test_a_command_is_run_between_the_processes_and_its_failure_is_told(program, url):
    say = shlex.join([sys.executable, "-c", "print('in between')"])
    done = program("demo", "--db", url, "--between", say)
    assert done.code == 0, done.err
    assert [line[:10] for line in done.out.splitlines() if line.startswith(("Step", "in between"))] == [
        *("Step 1 of ", "in between", "Step 2 of ", "in between", "Step 3 of ")
    ]
    assert len(program("demo", "--db", url, "--between", say, "--json").data["steps"]) == 3
    failed = program("demo", "--db", url, "--between", shlex.join([sys.executable, "-c", "raise SystemExit(3)"]))
    assert failed.code == 1
    assert "ended with code 3" in failed.err
    missing = program("demo", "--db", url, "--between", "/nowhere/at-all")
    assert missing.code == 1
    assert "can't be run" in missing.err


def test_the_demo_may_be_run_again_on_the_same_file(demo_memory):
    for step in (1, 2, 3, 1, 2, 3):
        play(step, demo_memory)


def test_the_demo_fails_when_the_store_keeps_nothing(demo_memory, monkeypatch):
    monkeypatch.setattr(Store, "put", lambda *_, **__: None)
    with pytest.raises(PerdureError, match="must be in the store"):
        play(1, demo_memory)


def test_the_demo_fails_when_the_thread_is_not_resumed(demo_memory):
    play(1, demo_memory)
    demo_memory.threads.delete("thread-a")
    with pytest.raises(PerdureError, match="must hold 'Ada'"):
        play(2, demo_memory)


def test_the_demo_fails_when_users_share_what_was_kept(demo_memory, monkeypatch):
    monkeypatch.setattr(demo_agent, "place_of", lambda _: ("preferences",))
    play(1, demo_memory)
    with pytest.raises(PerdureError, match=r"user-002 in thread-c must not hold 'jasmine'"):
        play(2, demo_memory)


def test_the_demo_fails_when_nothing_was_said_before_its_last_step(demo_memory):
    with pytest.raises(PerdureError, match="there are none"):
        play(3, demo_memory)


def test_a_failed_step_ends_the_demo_with_a_sentence(program, url, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "from perdure.langgraph.store import Store\nStore.put = lambda *args, **given: None\n"
    )
    done = program("demo", "--db", url, "--json", env={"PYTHONPATH": str(tmp_path)})
    assert done.code == 1
    assert "step 1 of the demo failed: the preference of user-001 must be in the store" in done.json["error"]["message"]


@pytest.mark.parametrize("tool", [demo_agent.remember, demo_agent.recall], ids=lambda tool: tool.name)
def test_what_the_model_is_shown_of_a_tool_names_no_user_and_no_runtime(tool):
    shown = json.dumps(convert_to_openai_tool(tool))
    assert "runtime" not in shown
    assert "user_id" not in shown


def test_a_run_without_a_user_keeps_nothing(demo_memory):
    agent = demo_agent.agent_for(StandInModel(), demo_memory)
    config = {"configurable": {"thread_id": "t"}}
    with pytest.raises(errors.InvalidInputError, match="names no user"):
        agent.invoke({"messages": [("user", "I prefer tea.")]}, config)
    assert demo_memory.store.count() == 0


def test_the_demo_refuses_a_database_that_ends_with_its_process(run):
    assert "the demo has three" in run("demo", "--db", "sqlite://").err


def test_a_server_needs_a_model_to_ask_for(run):
    done = run("demo", "--base-url", "http://localhost:8000/v1")
    assert (done.code, "--model openai:NAME" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("mistralai:mistral-large", "pip install langchain-mistralai"),
        ("nobody:x", "write provider:name"),
    ],
)
def test_a_model_that_cannot_be_made_is_one_sentence(model, sentence, demo_memory):
    with pytest.raises(errors.ConfigurationError, match=sentence) as caught:
        demo_agent.model_for(model, None)
    assert "\n" not in str(caught.value)


def test_the_stand_in_knows_only_what_it_is_given():
    model = StandInModel()
    said = [HumanMessage("My name is Ada."), AIMessage("Hello, Ada."), HumanMessage("What is my name?")]
    assert model.invoke(said).text == "Your name is Ada."
    assert model.invoke(said[-1:]).text == "I don't know your name."
    assert model.invoke("What's the weather?").text == "I don't know."
    assert model.invoke("What do I like?").tool_calls == []
    assert model.invoke("我叫小雅，我喜欢喝茶。").text == "你好，小雅。 记下了：喝茶。"


def test_the_stand_in_calls_the_tools_it_is_given():
    model = StandInModel().bind_tools([demo_agent.remember, demo_agent.recall])
    told = HumanMessage("I prefer tea.")
    called = model.invoke([told])
    assert [(c["name"], c["args"]) for c in called.tool_calls] == [("remember", {"preference": "tea"})]
    answered = ToolMessage("kept", tool_call_id=called.tool_calls[0]["id"], name="remember")
    assert model.invoke([told, called, answered]).text == "Noted: tea."
    assert model.invoke("What do I prefer?").tool_calls[0]["name"] == "recall"


class _ChatServer(http.server.BaseHTTPRequestHandler):
    """Speaks enough of the OpenAI protocol, with the stand-in behind it."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        answer = StandInModel().bind_tools(asked.get("tools", [])).invoke([_message(m) for m in asked["messages"]])
        calls = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}}
            for c in answer.tool_calls
        ]
        message = {"role": "assistant", "content": answer.text, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def _message(given):
    if given["role"] == "tool":
        return ToolMessage(given["content"], tool_call_id=given["tool_call_id"])
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    return kinds.get(given["role"], AIMessage)(given["content"] or "")


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _ChatServer) as found:
        found.asked = []
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def test_a_model_server_on_this_machine_is_spoken_to_directly_whatever_proxies_are_set(program, server, url):
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"), "http://127.0.0.1:1")
    base_url = f"http://127.0.0.1:{server.server_port}/v1"
    done = program("demo", "--db", url, "--json", "--model", "openai:local", "--base-url", base_url, env=proxies)
    assert done.code == 0, done.out
    assert done.data["model"] == f"openai:local at {base_url}"
    assert len(server.asked) == 8
    assert all("user-00" not in json.dumps(asked) for asked in server.asked)


def test_a_model_server_that_is_not_there_is_one_sentence(program, url):
    done = program("demo", "--db", url, "--model", "openai:local", "--base-url", "http://127.0.0.1:1/v1")
    assert done.code == 1
    assert "the model gave no answer" in done.err
    assert "that its server can be reached" in done.err
    assert "Traceback" not in done.err
