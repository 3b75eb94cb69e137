"""Checks and figures of SQLite: whether the file and its settings are right, and what is in it."""

from __future__ import annotations

import apsw

from perdure import errors
from perdure.engine import Finding, figures, files, migrate

__all__ = ["figures_of", "findings", "outdated", "size"]

_SUFFIXES = ("", "-wal", "-shm")


def outdated(url: str) -> list[Finding]:
    """Return what is wrong with a file that lacks migrations, which opening it would apply; nothing if it has all."""
    place = files.parse(url)
    version = files.inspect(place)
    if place.path is None:
        return []
    if version is None:
        raise errors.NotSetUpError(f"there is no database at {url}: check the path, or run 'perdure setup --db {url}'")
    migrate.refuse_newer("sqlite", version, str(place.path))
    missing = migrate.names("sqlite")[version:]
    return [migrate.missing(missing, f"perdure setup --db {url}")] if missing else []


def findings(connection: apsw.Connection, place: files.Place) -> list[Finding]:
    """Return what `perdure doctor` shows."""
    wanted = {"journal_mode": "memory" if place.path is None else "wal", **files.PRAGMAS}
    seen = {name: connection.pragma(name) for name in wanted}
    damage = connection.execute("PRAGMA quick_check(1)").get
    return [
        Finding.ok("SQLite library", f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"),
        *[Finding(f"pragma {name}", seen[name] == value, str(seen[name])) for name, value in wanted.items()],
        Finding("file is sound", damage == "ok", str(damage)),
        migrate.judged("sqlite", _applied(connection), f"perdure setup --db {place.url}"),
    ]


def figures_of(connection: apsw.Connection, place: files.Place) -> figures.Figures:
    """Return what `perdure inspect` shows."""
    return figures.Figures(
        version=f"SQLite {apsw.sqlite_lib_version()}",
        bytes=size(connection, place),
        tables=_tables(connection),
        migrations=migrate.listed("sqlite", _applied(connection)),
    )


def size(connection: apsw.Connection, place: files.Place) -> int:
    """Return the bytes of a file with its write-ahead log; in memory, of its pages."""
    if place.path is None:
        return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
    paths = [place.path.with_name(place.path.name + suffix) for suffix in _SUFFIXES]
    return sum(path.stat().st_size for path in paths if path.exists())


def _applied(connection: apsw.Connection) -> list[migrate.Applied]:
    rows = connection.execute("SELECT name, checksum, applied_at FROM migrations ORDER BY name").fetchall()
    return [(str(name), str(checksum), int(when or 0)) for name, checksum, when in rows]


def _tables(connection: apsw.Connection) -> list[figures.Table]:
    """Return the tables and their pages, which are counted by reading them; nothing if this SQLite can't."""
    if "ENABLE_DBSTAT_VTAB" not in apsw.compile_options:
        return []
    rows = connection.execute(
        "SELECT s.tbl_name, sum(d.pgsize), sum(CASE WHEN s.type = 'index' THEN d.pgsize ELSE 0 END) "
        "FROM sqlite_schema s JOIN dbstat('main', 1) d ON d.name = s.name "
        "WHERE s.tbl_name NOT LIKE 'sqlite_%' GROUP BY 1 ORDER BY 1"
    )
    return [figures.Table(name, None, total, of_indexes) for name, total, of_indexes in rows]
