"""Opening a SQLite file: refuse what is not ours before touching it, then set what durability needs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, quote

import apsw

from perdure import errors
from perdure.engine import headers

__all__ = ["APPLICATION_ID", "PRAGMAS", "Place", "connect", "inspect", "named_errors", "parse"]

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
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_LOOKS = 3
_BETWEEN_LOOKS = 0.05
_SMALL = 1 << 20
"""Bytes up to which a file is looked through when it is opened."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a SQLite database is. `path` None: private and in memory. `timeout` in seconds."""

    path: Path | None
    timeout: float = 10.0
    vfs: str | None = None
    url: str = field(default="sqlite://", compare=False)

    def uri(self, options: str) -> str:
        """Return SQLite's own name for the file, opened with options (mode=ro, mode=rw, mode=rwc)."""
        return f"file://{quote(os.fsencode((self.path or Path()).absolute()))}?{options}"


def parse(url: str) -> Place:
    """Read a `sqlite:` URL. Raises InvalidUrlError with the form that was probably meant.

    The path stands as it is: nothing in it is an escape, and `?` ends it.
    """
    if found := _CONTROL.search(url):
        msg = f"{url!r} holds a control character ({found.group()!r}); take it out"
        raise errors.InvalidUrlError(msg)
    address, _, options = url.partition("?")
    query = parse_qs(options, keep_blank_values=True)
    if unknown := sorted(set(query) - _QUERY_NAMES):
        msg = f"{url!r}: unknown option {unknown[0]!r}; a SQLite URL takes {', '.join(sorted(_QUERY_NAMES))}"
        raise errors.InvalidUrlError(msg)
    if twice := [name for name, values in query.items() if len(values) > 1]:
        msg = f"{url!r}: the option {twice[0]!r} is given twice; leave one out"
        raise errors.InvalidUrlError(msg)
    scheme, colon, rest = address.partition(":")
    if scheme != "sqlite" or not colon or not re.fullmatch("//(/(?!:memory:$).+)?", rest):
        name = rest.lstrip("/")
        meant = "sqlite://" if name in {"", ":memory:"} else f"sqlite:///{name}"
        msg = f"{url!r} is no SQLite URL of ours: write {meant!r} (a file: three slashes and a path, four for /…)"
        raise errors.InvalidUrlError(msg)
    path = Path(rest[3:]) if len(rest) > 2 else None
    timeout = _seconds(url, query["timeout"][0]) if "timeout" in query else 10.0
    return Place(path=path, timeout=timeout, vfs=_vfs(url, query), url=url)


def _vfs(url: str, query: dict[str, list[str]]) -> str | None:
    if "vfs" not in query:
        return None
    name = query["vfs"][0]
    if name not in apsw.vfs_names():
        msg = f"{url!r}: there is no VFS {name!r} in this process; there are {', '.join(apsw.vfs_names())}"
        raise errors.InvalidUrlError(msg)
    return name


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
    name = ":memory:" if place.path is None else place.uri("mode=rwc" if create else "mode=rw")
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
    # Else SQLite plans a statement with ORDER BY anew for each value of a parameter: that takes longer than to run it.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
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


def _patience(seconds: float) -> Callable[[int], bool]:
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

    Raises ForeignDatabaseError or CorruptDatabaseError for a file that Perdure must not touch. SQLite itself is not
    asked: it would leave a log and a map beside the file, or remove those that are there. Nor is the file opened by
    other means than SQLite's, whose locks would be gone with the first close.
    """
    if place.path is None:
        return None
    for _ in range(_LOOKS - 1):
        try:
            return _look(place, place.path)
        except (errors.ForeignDatabaseError, errors.CorruptDatabaseError):
            time.sleep(_BETWEEN_LOOKS)  # another process may be in the middle of writing it
    return _look(place, place.path)


def _look(place: Place, path: Path) -> int | None:
    try:
        log = headers.read_log(path, place.vfs)
        size = _size(place, path)
        head = headers.read(path, place.vfs, log) if size else None
    except apsw.Error as error:
        raise unavailable(place, error) from error
    except OSError as error:
        msg = f"{place.url}: {path} can't be opened ({error.strerror}); check the path"
        raise errors.DatabaseUnavailableError(msg) from error
    if head is None:
        _refuse_orphan(path, log)
        return None
    if not head.is_sqlite:
        msg = f"{path} is no SQLite database; it was left as it is. Choose another file name."
        raise errors.ForeignDatabaseError(msg)
    if head.owner == 0 and head.is_empty:
        return None
    if head.owner != APPLICATION_ID:
        msg = (
            f"{path} is a SQLite database of another program; it was left as it is. "
            "Choose another file name for Perdure."
        )
        raise errors.ForeignDatabaseError(msg)
    _refuse_cut(path, size, head, log)
    if size < _SMALL and not (log and log.pages):
        _refuse_damage(place, path)
    return head.version


def _size(place: Place, path: Path) -> int:
    """Return the size of the file, 0 if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0
    if path.is_dir():
        msg = f"{place.url}: {path} is a folder; name a file in it, such as {place.url.rstrip('/')}/agent.db"
        raise errors.DatabaseUnavailableError(msg)
    if not path.is_file():
        msg = f"{place.url}: {path} is no regular file; choose another name"
        raise errors.DatabaseUnavailableError(msg)
    return found.st_size


def _refuse_orphan(path: Path, log: headers.Log | None) -> None:
    """Refuse to begin a database beside the log of another one: SQLite would remove the log."""
    if log is not None:
        msg = (
            f"{path} is missing or empty, but {path.name}-wal beside it holds what its database wrote last; both were "
            f"left as they are. Put the database back, or remove {path.name}-wal if it is not needed."
        )
        raise errors.CorruptDatabaseError(msg)


def _refuse_cut(path: Path, size: int, head: headers.Header, log: headers.Log | None) -> None:
    """Refuse a file that lacks pages, with no log to complete it."""
    present = size // head.page_size if head.page_size else 0
    logged = log.pages if log else set()
    if any(page not in logged for page in range(present + 1, head.page_count + 1)):
        raise damaged(path, f"{size} of {head.page_count * head.page_size} bytes are there")


def _refuse_damage(place: Place, path: Path) -> None:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(place.uri("mode=ro&immutable=1"), flags=flags, vfs=place.vfs)
        try:
            found = connection.execute("PRAGMA quick_check(1)").get
        finally:
            connection.close()
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise damaged(path, error) from error
    except apsw.Error as error:
        raise unavailable(place, error) from error
    if found != "ok":
        raise damaged(path, found)


class named_errors:  # noqa: N801 - reads as the function that it would be, if those were not slower
    """Turn the library's errors into ours; what the disk or another process did is named."""

    __slots__ = ("_place",)

    def __init__(self, place: Place) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error):
            raise _named(self._place, error) from error


def _named(place: Place, error: apsw.Error) -> errors.DatabaseError:
    if isinstance(error, apsw.BusyError):
        return locked(place)
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return damaged(place.path, error)
    if isinstance(error, apsw.IOError | apsw.FullError | apsw.ReadOnlyError | apsw.CantOpenError):
        return unavailable(place, error)
    if isinstance(error, apsw.ConnectionClosedError):
        return errors.ClosedError("this memory was closed; open another one with Memory.open(url)")
    return errors.DatabaseError(f"{place.url}: SQLite refused a statement ({error}); please report this")


def locked(place: Place) -> errors.DatabaseLockedError:
    """Return the error for a database that another process holds."""
    msg = (
        f"{place.url}: another process has held the database for over {place.timeout:g} s. "
        "Look for a program that left a transaction open, or allow more with ?timeout=60."
    )
    return errors.DatabaseLockedError(msg)


def damaged(path: Path | None, why: object) -> errors.CorruptDatabaseError:
    """Return the error for a file that is cut short or damaged."""
    msg = f"{path or 'the memory'} is damaged ({why}); it was left as it is. Restore it from a backup."
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
