"""Other processes, quickly: one that has imported everything forks a new one for each program.

A program is Python text that finds `url`, `path`, `rest`, `Memory`, `errors`, `support`, `say` and `hear` ready.
"""

from __future__ import annotations

import atexit
import functools
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
WELL = "\x04ended well"


class Process:
    """A program that runs."""

    def __init__(self, program: str, url: str, *rest: str) -> None:
        pairs = [os.pipe() for _ in range(3)]
        theirs = [pairs[0][0], pairs[1][1], pairs[2][1]]
        self.stdin = os.fdopen(pairs[0][1], "w")
        self.stdout = os.fdopen(pairs[1][0], errors="replace")
        self.stderr = os.fdopen(pairs[2][0], errors="replace")
        door = _door()
        socket.send_fds(door, ["\0".join((program, url, *rest)).encode()], theirs)
        for fd in theirs:
            os.close(fd)
        (self.pid,) = struct.unpack("i", door.recv(4))

    def tell(self, text: str = "go") -> None:
        self.stdin.write(text + "\n")
        self.stdin.flush()

    def heard(self) -> str:
        """Return the next line it says."""
        return self.stdout.readline().strip()

    def end(self, timeout: float = 120) -> str:
        """Return what it still says, once it has ended well."""
        out, hangs = "", True
        while select.select([self.stdout], [], [], timeout)[0]:
            if not (text := self.stdout.readline()):
                hangs = False
                break
            out += text
        out, ended, _ = out.partition(WELL)
        try:
            assert ended, f"{out}\n{'it hangs' if hangs else self.stderr.read()}"
        finally:
            self.kill()
        return out.strip()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        for file in (self.stdin, self.stdout, self.stderr):
            with suppress(BrokenPipeError):
                file.close()


def start(program: str, url: str, *rest: str) -> Process:
    return Process(program, url, *rest)


def run(program: str, url: str, *rest: str) -> str:
    """Run a program to its end and return what it said."""
    return start(program, url, *rest).end()


@functools.cache
def _door() -> socket.socket:
    """Start the process that forks, and return the way to it. It ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    text = f"from tests.engine import processes; processes.serve({theirs.fileno()})"
    zygote = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, pass_fds=[theirs.fileno()])
    theirs.close()

    def stop() -> None:
        ours.close()
        zygote.wait()

    atexit.register(stop)
    return ours


def serve(fd: int) -> None:
    """Fork a process for each program that comes."""
    import langchain.agents  # noqa: F401, PLC0415 - imported once, for all of them
    from tests import support  # noqa: F401, PLC0415 - as above

    import perdure  # noqa: F401, PLC0415 - as above

    door = socket.socket(fileno=fd)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, fds, _, _ = socket.recv_fds(door, 1 << 16, 3)
        if not data:
            return
        pid = os.fork()
        if not pid:
            door.close()
            _become(data.decode(), fds)
        for theirs in fds:
            os.close(theirs)
        door.send(struct.pack("i", pid))


def _become(text: str, fds: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for at, fd in enumerate(fds):
        os.dup2(fd, at)
        os.close(fd)
    program, url, *rest = text.split("\0")
    try:
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        exec(compile(program, "<program>", "exec"), _given(url, rest))  # noqa: S102 - our own text
        print(WELL, flush=True)  # noqa: T201 - how the other side knows
    except BaseException:  # noqa: BLE001 - the edge of the process
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def _given(url: str, rest: list[str]) -> dict[str, object]:
    import threading  # noqa: PLC0415 - for programs
    import time  # noqa: PLC0415 - for programs

    import apsw  # noqa: PLC0415 - for programs
    from tests import support  # noqa: PLC0415 - for programs

    from perdure import Memory, errors  # noqa: PLC0415 - for programs

    path = url.removeprefix("sqlite:///").partition("?")[0]
    return {
        "__name__": "__program__",
        "os": os,
        "sys": sys,
        "threading": threading,
        "time": time,
        "apsw": apsw,
        "Memory": Memory,
        "errors": errors,
        "support": support,
        "url": url,
        "rest": rest,
        "path": path,
        "say": functools.partial(print, flush=True),
        "hear": lambda: sys.stdin.readline().strip(),
    }
