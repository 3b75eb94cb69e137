"""A TCP proxy before PostgreSQL that cuts, delays and counts, and that can lose the answer to a COMMIT.

It reads the messages of both sides, so connections through it are not encrypted.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Self
from urllib.parse import parse_qsl, urlsplit

_NO_ENCRYPTION = (80877103, 80877104)  # what a client asks for before it begins
_CANCEL = 80877102
_ASKS = (b"Q", b"S", b"F")  # Query, Sync, FunctionCall: the server answers each with one ReadyForQuery
_NEEDED = (b"G", b"H", b"W")  # the server waits for the client, or sends without end: COPY

Message = tuple[bytes, bytes]


class Proxy:
    """Stands between clients and the server of a URL; `url` leads through it. `delay` is in ms, for each direction."""

    def __init__(self, url: str, *, delay: float = 0.0) -> None:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        self._server: tuple[str, int] | str = (parts.hostname or "127.0.0.1", parts.port or 5432)
        if folder := options.get("host", ""):
            self._server = f"{folder}/.s.PGSQL.{options.get('port', 5432)}"
        self.delay = delay
        self._tag, self._left, self._lost = b"", 0, 0
        self._links: list[Link] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        who = parts.netloc.rpartition("@")[0]
        self.url = f"postgresql://{who}@127.0.0.1:{self.port}{parts.path}?sslmode=disable"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cut(self) -> int:
        """Cut all connections at once; return how many there were."""
        return sum(link.cut() for link in self._known())

    def lose_commits(self, number: int = 1, *, tag: bytes = b"COMMIT") -> None:
        """Let the server do the next COMMITs, keep all answers of these batches, and cut the connections instead.

        Another `tag` of a finished command, such as INSERT, loses the answers to what commits by itself.
        """
        with self._lock:
            self._tag, self._left = tag, number

    @property
    def lost(self) -> int:
        """How many answers it has lost."""
        with self._lock:
            return self._lost

    @contextlib.contextmanager
    def round_trips(self) -> Iterator[Count]:
        """Count how often clients send something after a full answer; opening a connection is not counted."""
        count, before = Count(), self._trips()
        yield count
        count.number = self._trips() - before

    def close(self) -> None:
        """Listen no longer, cut what is open, and wait until its threads have ended."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join(10)
        self.cut()
        for thread in self._threads:
            thread.join(10)

    def armed(self) -> bool:
        """Tell a link whether it has to hold answers back until they are whole."""
        with self._lock:
            return self._left > 0

    def loses(self, answer: list[Message]) -> bool:
        """Tell a link whether a whole answer is one to be lost."""
        with self._lock:
            found = any(kind == b"C" and body.startswith(self._tag) for kind, body in answer)
            if not self._left or not found or answer[-1] != (b"Z", b"I"):
                return False
            self._left -= 1
            self._lost += 1
            return True

    def _known(self) -> list[Link]:
        with self._lock:
            return list(self._links)

    def _trips(self) -> int:
        return sum(link.trips for link in self._known())

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = self._connect()
            except OSError:
                client.close()
                continue
            link = Link(self, client, server)
            with self._lock:
                self._links.append(link)
            for target in (link.forward, link.answer):
                self._threads.append(threading.Thread(target=target, daemon=True))
                self._threads[-1].start()

    def _connect(self) -> socket.socket:
        if isinstance(self._server, tuple):
            return socket.create_connection(self._server)
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._server)
        except OSError:
            server.close()
            raise
        return server


class Count:
    """A number of round trips, known when the block has ended."""

    number = 0


class Link:
    """A client's connection, and the one to the server that belongs to it."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        for end in (client, server):
            if end.family != socket.AF_UNIX:
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._proxy, self._client, self._server = proxy, client, server
        self._lock = threading.Lock()
        self._open, self._ends = True, 2
        self._unanswered, self._waiting = 1, True  # the startup, which ends with a ReadyForQuery as well
        self._begun = False
        self.trips = 0

    def cut(self) -> bool:
        """End both connections; say whether they were there."""
        with self._lock:
            was_open, self._open = self._open, False
        for end in (self._client, self._server) if was_open else ():
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return was_open

    def forward(self) -> None:
        """Pass on what the client says."""
        with self._thread():
            self._start()
            for messages in _read(self._client):
                with self._lock:
                    self.trips += not self._waiting
                    self._waiting = True
                    self._unanswered += sum(kind in _ASKS for kind, _ in messages)
                self._pass(messages, self._server)

    def answer(self) -> None:
        """Pass on what the server says; what may have to get lost only when it is whole."""
        held: list[Message] = []
        with self._thread():
            for messages in _read(self._server):
                for message in messages:
                    held.append(message)
                    if message[0] == b"Z":
                        if self._proxy.loses(held):
                            return
                        self._answered()
                        self._pass(held, self._client)
                        held = []
                if held and (not self._begun or not self._proxy.armed() or held[-1][0] in _NEEDED):
                    self._pass(held, self._client)
                    held = []

    def _answered(self) -> None:
        with self._lock:
            self._begun = True
            self._unanswered -= 1
            self._waiting = self._unanswered > 0

    def _start(self) -> None:
        """Pass on the first message, which has no kind; refuse encryption."""
        while True:
            head = _exactly(self._client, 8)
            size, code = struct.unpack("!II", head)
            if code not in _NO_ENCRYPTION:
                break
            self._client.sendall(b"N")
        self._server.sendall(head + _exactly(self._client, size - 8))
        if code == _CANCEL:
            self._client.recv(1)

    def _pass(self, messages: list[Message], target: socket.socket) -> None:
        if self._proxy.delay:
            time.sleep(self._proxy.delay / 1000)
        target.sendall(b"".join(kind + struct.pack("!I", len(body) + 4) + body for kind, body in messages))

    @contextlib.contextmanager
    def _thread(self) -> Iterator[None]:
        """Let the connections end with the first of the two threads, and close them with the last."""
        try:
            with contextlib.suppress(OSError, EOFError):
                yield
        finally:
            self.cut()
            with self._lock:
                self._ends -= 1
                last = self._ends == 0
            if last:
                self._client.close()
                self._server.close()


def _read(source: socket.socket) -> Iterator[list[Message]]:
    """Yield the whole messages that have come, as many as there are at a time."""
    buffer = bytearray()
    while part := source.recv(1 << 16):
        buffer += part
        found, at = [], 0
        while len(buffer) >= at + 5:
            end = at + 1 + int.from_bytes(buffer[at + 1 : at + 5])
            if len(buffer) < end:
                break
            found.append((bytes(buffer[at : at + 1]), bytes(buffer[at + 5 : end])))
            at = end
        del buffer[:at]
        if found:
            yield found


def _exactly(source: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        if not (part := source.recv(size - len(found))):
            raise EOFError
        found += part
    return found
