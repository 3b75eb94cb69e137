"""Opening a SQLite file: refuse what is not ours before touching it, then set what durability needs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import apsw

from perdure import errors

__all__ = ["APPLICATION_ID", "PRAGMAS", "Place", "connect", "inspect", "parse"]

APPLICATION_ID = 0x50455244
"""Marks a file as Perdure's own (SQLite's `application_id`)."""

PRAGMAS: dict[str, object] = {
    "synchronous": 2,
    "foreign_keys": 1,
    "secure_delete": 1,
    "trusted_schema": 0,
    "cell_size_check": 1,
}
"""Set on every connection and read back. `synchronous` 2 is FULL: a commit is on disk when it returns."""

_LONGEST_NAP = 0.005
_QUERY_NAMES = {"timeout", "vfs"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a SQLite database is. `path` None: private and in memory. `timeout` in seconds."""

    path: Path | None
    timeout: float = 10.0
    vfs: str | None = None
    url: str = field(default="sqlite://", compare=False)

    def uri(self, mode: str) -> str:
        """Return SQLite's own name for the file, opened with `mode` (ro, rw, rwc)."""
        return f"file:{quote(str(self.path))}?mode={mode}"


def parse(url: str) -> Place:
    """Read a `sqlite:` URL. Raises InvalidUrlError with the form that was probably meant."""
    parts = urlsplit(url)
    query = parse_qs(parts.query, keep_blank_values=True)
    if unknown := sorted(set(query) - _QUERY_NAMES):
        msg = f"{url!r}: unknown option {unknown[0]!r}; a SQLite URL takes {', '.join(sorted(_QUERY_NAMES))}"
        raise errors.InvalidUrlError(msg)
    timeout = _seconds(url, query.get("timeout", ["10"])[-1])
    vfs = query.get("vfs", [None])[-1]
    if parts.netloc or parts.path in {"/:memory:", "/"}:
        meant = f"sqlite:///{parts.netloc}{parts.path}" if parts.netloc else "sqlite://"
        msg = f"{url!r} is no SQLite URL of ours: write {meant!r} (a file: three slashes and a path, four for /…)"
        raise errors.InvalidUrlError(msg)
    path = Path(parts.path[1:]) if parts.path else None
    return Place(path=path, timeout=timeout, vfs=vfs, url=url)


def _seconds(url: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:
        msg = f"{url!r}: timeout is a number of seconds from 0 to 3600, not {text!r}"
        raise errors.InvalidUrlError(msg)
    return value


def connect(place: Place, *, create: bool) -> apsw.Connection:
    """Open a connection with our settings; the caller has asked `inspect` about the file."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI | (apsw.SQLITE_OPEN_CREATE if create else 0)
    name = ":memory:" if place.path is None else place.uri("rwc" if create else "rw")
    try:
        connection = apsw.Connection(name, flags=flags, vfs=place.vfs, statementcachesize=200)
    except apsw.Error as error:
        raise unavailable(place, error) from error
    try:
        _configure(connection, place)
    except BaseException:
        connection.close()
        raise
    return connection


def _configure(connection: apsw.Connection, place: Place) -> None:
    connection.set_busy_handler(_patience(place.timeout))
    if place.path is not None:
        _use_wal(connection, place)
    for name, value in PRAGMAS.items():
        connection.execute(f"PRAGMA {name}={value}")
        seen = connection.pragma(name)
        if seen != value:
            msg = f"{place.url}: SQLite kept {name}={seen} where {value} was set; this SQLite can't be used"
            raise errors.DatabaseUnavailableError(msg)


def _use_wal(connection: apsw.Connection, place: Place) -> None:
    # Several processes may switch the same new file at once, and SQLite answers "busy" here
    # without asking the busy handler.
    deadline = time.monotonic() + place.timeout
    while True:
        try:
            mode = connection.pragma("journal_mode", "wal")
        except apsw.BusyError as error:
            if time.monotonic() >= deadline:
                raise locked(place) from error
            time.sleep(_LONGEST_NAP)
            continue
        except apsw.Error as error:
            raise unavailable(place, error) from error
        if mode != "wal":
            msg = f"{place.url}: this file system can't share memory, which write-ahead logging needs; use a local disk"
            raise errors.DatabaseUnavailableError(msg)
        return


def _patience(seconds: float) -> object:
    """Return a busy handler that naps briefly, so that processes take turns, and gives up in time."""
    started = 0.0

    def wait(attempts: int) -> bool:
        nonlocal started
        if attempts == 0:
            started = time.monotonic()
        if time.monotonic() - started >= seconds:
            return False
        time.sleep(min(_LONGEST_NAP, 0.0005 * (attempts + 1)))
        return True

    return wait


def inspect(place: Place) -> int | None:
    """Return the schema version of the file, or None if there is nothing yet; change nothing.

    Raises ForeignDatabaseError or CorruptDatabaseError for a file that Perdure must not touch.
    """
    if place.path is None or not place.path.exists() or place.path.stat().st_size == 0:
        return None
    if place.path.is_dir():
        msg = f"{place.url}: {place.path} is a folder; name a file in it, such as {place.url.rstrip('/')}/agent.db"
        raise errors.DatabaseUnavailableError(msg)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(place.uri("ro"), flags=flags, vfs=place.vfs)
    except apsw.Error as error:
        raise unavailable(place, error) from error
    try:
        connection.set_busy_handler(_patience(place.timeout))
        return _version(connection, place)
    except apsw.NotADBError as error:
        msg = f"{place.path} is no SQLite database; it was left as it is. Choose another file name."
        raise errors.ForeignDatabaseError(msg) from error
    except apsw.CorruptError as error:
        raise damaged(place, error) from error
    except apsw.Error as error:
        raise unavailable(place, error) from error
    finally:
        connection.close()


def _version(connection: apsw.Connection, place: Place) -> int | None:
    owner, version = connection.pragma("application_id"), connection.pragma("user_version")
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if owner == 0 and not tables:
        return None
    if owner != APPLICATION_ID:
        msg = (
            f"{place.path} is a SQLite database of another program; it was left as it is. "
            "Choose another file name for Perdure."
        )
        raise errors.ForeignDatabaseError(msg)
    _refuse_cut(connection, place)
    return int(version)


def _refuse_cut(connection: apsw.Connection, place: Place) -> None:
    """Refuse a file that is shorter than its own header says, with no log to complete it."""
    path = place.path
    if path is None:
        return
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        return
    if rows := connection.execute("PRAGMA quick_check(1)").get if path.stat().st_size < 1 << 20 else "ok":
        if rows != "ok":
            raise damaged(place, rows)
    size = connection.pragma("page_count") * connection.pragma("page_size")
    if path.stat().st_size < size:
        raise damaged(place, f"{path.stat().st_size} of {size} bytes are there")


def locked(place: Place) -> errors.DatabaseLockedError:
    """Return the error for a database that another process holds."""
    msg = (
        f"{place.url}: another process has held the database for over {place.timeout:g} s. "
        "Look for a program that left a transaction open, or allow more with ?timeout=60."
    )
    return errors.DatabaseLockedError(msg)


def damaged(place: Place, why: object) -> errors.CorruptDatabaseError:
    """Return the error for a file that is cut short or damaged."""
    msg = f"{place.path} is damaged ({why}); it was left as it is. Restore it from a backup."
    return errors.CorruptDatabaseError(msg)


def unavailable(place: Place, error: apsw.Error) -> errors.DatabaseUnavailableError:
    """Return the error for a file that can't be opened or written, with the likely reason."""
    folder = place.path.absolute().parent if place.path else None
    if folder and not folder.is_dir():
        hint = f"the folder {folder} does not exist; make it first"
    elif isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        hint = f"it can't be written; check the rights of {folder} and of the file, or choose another place"
    elif isinstance(error, apsw.FullError):
        hint = "the disk is full; nothing of this call was stored"
    else:
        hint = str(error)
    return errors.DatabaseUnavailableError(f"{place.url}: {hint}")
