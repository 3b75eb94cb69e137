"""The server of a local model: started for the tests, and gone with them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.llm.provision import UnavailableError

PROGRAM = Path(__file__).with_name("serve.py")
START = 120
"""Seconds that the model may take to load."""


@contextlib.contextmanager
def served(python: Path, model: Path, log: Path, program: Path = PROGRAM) -> Iterator[str]:
    """Serve a model; return the address. Raises UnavailableError if the server doesn't come up.

    It takes half of the processors: the threads of a model wait for each other by spinning, so with one that is busy
    elsewhere all are slow.
    """
    command = [str(python), str(program), str(model), str(max(1, (os.cpu_count() or 2) // 2))]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        try:
            yield _address(process, log)
        finally:
            process.kill()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    if not select.select([process.stdout], [], [], START)[0]:
        raise UnavailableError(f"the server gave no address within {START} seconds; {log} has what it said")
    if address := process.stdout.readline().decode().strip():
        return address
    code = process.wait(10)
    if code == -signal.SIGILL:
        raise UnavailableError("this processor lacks an instruction that the server needs (AVX2?): use another machine")
    raise UnavailableError(f"the server ended with {code} before it gave an address; {log} has what it said")
