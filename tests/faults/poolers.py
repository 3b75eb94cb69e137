"""A fake of a pooler in transaction mode, such as PgBouncer: each transaction goes to some session of several.

It is no pooler to use: it only makes sure that whatever a client keeps in a session breaks.
"""

from __future__ import annotations

import contextlib
import random
import select
import socket
import struct
import threading
from typing import Self

import psycopg
from tests.faults.proxies import _ASKS, _exactly

_NO_ENCRYPTION = (80877103, 80877104)
_SHOWN = ("server_version", "client_encoding", "server_encoding", "DateStyle", "TimeZone", "integer_datetimes")
_SHOWN += ("standard_conforming_strings",)


class Pooler:
    """Listens on a port, with some sessions at the server of a URL. `url` leads to it."""

    def __init__(self, url: str, sessions: int = 3) -> None:
        self._connections = [psycopg.connect(url, autocommit=True) for _ in range(sessions)]
        info = self._connections[0].info
        shown = {name: info.parameter_status(name) for name in _SHOWN}
        self.greeting = _message(b"R", struct.pack("!I", 0)) + b"".join(
            _message(b"S", f"{name}\0{value}\0".encode()) for name, value in shown.items() if value is not None
        )
        self.greeting += _message(b"K", struct.pack("!II", 1, 1)) + _message(b"Z", b"I")
        self._free = [socket.socket(fileno=connection.fileno()) for connection in self._connections]
        self._turn = threading.Condition()
        self.transactions = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://{info.user}@127.0.0.1:{self._listener.getsockname()[1]}/{info.dbname}"
        self.url += "?sslmode=disable"
        self._clients: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in (self._listener, *self._clients):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in self._threads:
            thread.join(10)
        for end in self._free:
            end.detach()
        for connection in self._connections:
            connection.close()

    def take(self) -> socket.socket:
        """Return some session that nobody uses."""
        with self._turn:
            self._turn.wait_for(lambda: self._free, timeout=60)
            self.transactions += 1
            return self._free.pop(random.randrange(len(self._free)))

    def give(self, session: socket.socket) -> None:
        """Take a session back."""
        with self._turn:
            self._free.append(session)
            self._turn.notify()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._clients.append(client)
            self._threads.append(threading.Thread(target=self._serve, args=(client,), daemon=True))
            self._threads[-1].start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError), client:
            while True:
                size, code = struct.unpack("!II", _exactly(client, 8))
                if code not in _NO_ENCRYPTION:
                    break
                client.sendall(b"N")
            _exactly(client, size - 8)
            client.sendall(self.greeting)
            while self._transaction(client):
                pass

    def _transaction(self, client: socket.socket) -> bool:
        """Pass one transaction to a session; say whether there may be more."""
        kind, body = _read(client)
        if kind == b"X":
            return False
        session, asked = self.take(), int(kind in _ASKS)
        session.sendall(_message(kind, body))
        status = b""
        while asked or status != b"I":
            for ready in select.select([client, session], [], [], 60)[0]:
                kind, body = _read(ready)
                if ready is client:
                    asked += kind in _ASKS
                    session.sendall(_message(kind, body))
                else:
                    if kind == b"Z":
                        asked, status = asked - 1, body
                    client.sendall(_message(kind, body))
        self.give(session)
        return True


def _read(source: socket.socket) -> tuple[bytes, bytes]:
    kind = _exactly(source, 1)
    return kind, _exactly(source, int.from_bytes(_exactly(source, 4)) - 4)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body
