"""`perdure demo`: memory at work, in three processes on one database."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from perdure import errors, settings
from perdure.cli import demo_script, output
from perdure.cli.commands import Run
from perdure.cli.output import Misuse, Reply
from perdure.engine import files

__all__ = ["STAND_IN", "BaseUrl", "Lang", "Model", "demo"]

STAND_IN = "stand-in"
TENANT = "demo"
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="A server that speaks the OpenAI protocol.")
]
Model = Annotated[
    str, typer.Option("--model", metavar="PROVIDER:NAME", help="A real model, instead of the stand-in for one.")
]
Between = Annotated[
    str | None,
    typer.Option("--between", metavar="COMMAND", help="Run this between the processes, such as the server's restart."),
]
Lang = Annotated[demo_script.Language, typer.Option("--lang", help="The language that the users speak.")]


def demo(
    run: Run, *, model: Model = STAND_IN, base_url: BaseUrl = None, lang: Lang = "en", between: Between = None
) -> Reply:
    """Show memory at work, in three processes on one database; no key, no network.

    Without --db it makes a file in a temporary folder, and says which. The tenant is 'demo' if left out.
    """
    if base_url is not None and model == STAND_IN:
        raise Misuse("--base-url needs a model to ask for there: --model openai:NAME")
    url = run.db or f"sqlite:///{Path(tempfile.mkdtemp(prefix='perdure-demo-')) / 'demo.db'}"
    if _in_memory(settings.url(url)):
        raise errors.InvalidUrlError(f"{url!r} ends with its process, and the demo has three: use sqlite:///demo.db")
    tenant = run.tenant or TENANT
    told = _speaker(model, base_url)
    if not run.as_json:
        output.emit("demo", Reply(None, [f"database: {url} (tenant {tenant})", f"model: {told}"]), as_json=False)
    options = ["--db", url, "--tenant", tenant, "--model", model, "--lang", lang]
    steps = []
    for step in (1, 2, 3):
        if between is not None and step > 1:
            _meanwhile(run, between)
        steps.append(_process(run, step, options, base_url))
    data = {"db": url, "tenant": tenant, "model": told, "steps": steps}
    ending = ["", f"Look around: perdure threads show thread-a --db {url} --tenant {tenant}"]
    return Reply(data, ending)


def _in_memory(url: str) -> bool:
    return url.startswith("sqlite:") and files.parse(url).path is None


def _meanwhile(run: Run, command: str) -> None:
    """Run what the user wants done while no process of the demo runs."""
    if not run.as_json:
        print(flush=True)
    try:
        words = shlex.split(command)
        done = subprocess.run(words, stdout=sys.stderr if run.as_json else None, check=False)  # noqa: S603 - as told
    except (OSError, ValueError) as error:
        raise errors.PerdureError(f"--between {command!r} can't be run: {error}") from error
    if done.returncode:
        raise errors.PerdureError(f"--between {command!r} ended with code {done.returncode}")


def _speaker(model: str, base_url: str | None) -> str:
    if model == STAND_IN:
        return (
            "a stand-in for a language model, which answers by rules from what it is given (--model takes a real one)"
        )
    return f"{model} at {base_url}" if base_url else model


def _process(run: Run, step: int, options: list[str], base_url: str | None) -> Any:
    """Run one step in a new process; in text it prints for itself, in JSON its data is returned."""
    command = [sys.executable, "-m", "perdure.cli.demo_process", str(step), *options]
    command += ["--base-url", base_url] if base_url else []
    if not run.as_json:
        print(flush=True)
    done = subprocess.run(  # noqa: S603 - our own program, no shell
        [*command, *(["--json"] if run.as_json else [])],
        env=settings.child_environment(base_url),
        stdout=subprocess.PIPE if run.as_json else None,
        check=False,
        text=True,
        encoding="utf-8",
    )
    found = json.loads(done.stdout) if done.stdout else {}
    if done.returncode:
        reason = f": {found['error']['message']}" if "error" in found else ""
        raise errors.PerdureError(f"step {step} of the demo failed{reason}")
    return found.get("data")
