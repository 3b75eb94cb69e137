"""The embedded engine: settings, files it must not touch, forks, other processes, and disks that fail."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from pathlib import Path

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import support
from tests.engine import processes

from perdure import Memory, errors
from perdure.engine import files, statements
from perdure.engine.sqlite import SqliteEngine


def path_of(url):
    return Path(url.removeprefix("sqlite:///").partition("?")[0])


def contents(folder):
    """What is in a folder, with a digest of each file. Only while nobody in this process has one of them open."""
    return {
        found.name: hashlib.sha256(found.read_bytes()).hexdigest() if found.is_file() else "folder"
        for found in folder.iterdir()
    }


def seed(url, threads=3):
    with Memory.open(url) as memory:
        for number in range(threads):
            support.put(memory.checkpointer, support.config(f"t{number}"), {"text": "x" * 5000})


# Settings


@pytest.mark.parametrize("reader", [False, True])
def test_every_setting_that_durability_needs_is_read_back(file_url, reader):
    engine = SqliteEngine(file_url)
    connection = engine._readers.open() if reader else engine._connection
    found = {name: connection.pragma(name) for name in files.PRAGMAS}
    mode = connection.pragma("journal_mode")
    if reader:
        connection.close()
    engine.close()
    assert found == {"synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "trusted_schema": 0, "cell_size_check": 1}
    assert mode == "wal"


def test_a_setting_that_does_not_stick_is_an_error(file_url, monkeypatch):
    monkeypatch.setitem(files.PRAGMAS, "auto_vacuum", 7)
    with pytest.raises(errors.DatabaseUnavailableError, match="auto_vacuum"):
        Memory.open(file_url)


def test_a_file_system_without_shared_memory_is_refused(tmp_path):
    with pytest.raises(errors.DatabaseUnavailableError, match="local disk"):
        Memory.open(f"sqlite:///{tmp_path}/m.db?vfs=unix-dotfile")


def test_check_says_that_all_is_right_while_others_write(file_url):
    with Memory.open(file_url) as memory:
        stop, failed = threading.Event(), []

        def write(number):
            try:
                while not stop.is_set():
                    support.put(memory.checkpointer, support.config(f"t{number}"), {"n": number})
            except BaseException as error:
                failed.append(error)
                raise

        threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(30):
            assert all(found.right for found in memory.engine.check())
            assert memory.setup() == []
        stop.set()
        for thread in threads:
            thread.join(60)
        assert not failed


# Files that are not ours, or not whole


def another_program(path, mode):
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", mode)
    connection.execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
    connection.close()


def a_newer_schema(path, _):
    seed(f"sqlite:///{path}")
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 999)
    connection.close()


def no_database(path, _):
    path.write_bytes(b"Dear diary, " * 1000)


def a_short_text(path, _):
    path.write_bytes(b"hello")


def a_folder(path, _):
    path.mkdir()


def a_pipe(path, _):
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "option", "error", "says"),
    [
        (another_program, "delete", errors.ForeignDatabaseError, "another program"),
        (another_program, "wal", errors.ForeignDatabaseError, "another program"),
        (a_newer_schema, None, errors.NewerSchemaError, "999"),
        (no_database, None, errors.ForeignDatabaseError, "no SQLite database"),
        (a_short_text, None, errors.ForeignDatabaseError, "no SQLite database"),
        (a_folder, None, errors.DatabaseUnavailableError, "folder"),
        (a_pipe, None, errors.DatabaseUnavailableError, "regular file"),
    ],
)
def test_what_is_not_ours_is_refused_with_the_reason_and_left_as_it_is(tmp_path, make, option, error, says):
    path = tmp_path / "memory.db"
    make(path, option)
    before = contents(tmp_path)
    for create in (True, False):
        with pytest.raises(error, match=says):
            Memory.open(f"sqlite:///{path}", create=create)
        assert contents(tmp_path) == before


def test_another_programs_file_whose_tables_are_only_in_the_log_is_left_as_it_is(tmp_path):
    path = tmp_path / "memory.db"
    program = """
db = apsw.Connection(path)
db.pragma("journal_mode", "wal")
db.execute("CREATE TABLE theirs (a)")
os.kill(os.getpid(), 9)
"""
    killed = processes.start(program, f"sqlite:///{path}")
    assert not killed.heard()
    killed.kill()
    (tmp_path / "memory.db-shm").unlink()
    before = contents(tmp_path)
    assert "memory.db-wal" in before
    with pytest.raises(errors.ForeignDatabaseError):
        Memory.open(f"sqlite:///{path}")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("share", [0.001, 0.02, 0.1, 0.3, 0.5, 0.75, 0.9, 0.99])
@pytest.mark.parametrize("threads", [1, 300])
def test_a_file_that_was_cut_short_is_refused_and_left_as_it_is(tmp_path, share, threads):
    path = tmp_path / "memory.db"
    seed(f"sqlite:///{path}", threads)
    size = path.stat().st_size
    os.truncate(path, max(1, int(size * share)))
    before = contents(tmp_path)
    with pytest.raises((errors.CorruptDatabaseError, errors.ForeignDatabaseError)):
        Memory.open(f"sqlite:///{path}")
    assert contents(tmp_path) == before


def test_a_small_file_with_a_damaged_page_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "memory.db"
    seed(f"sqlite:///{path}")
    with path.open("r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xff" * 2000)
    before = contents(tmp_path)
    with pytest.raises(errors.CorruptDatabaseError, match="backup"):
        Memory.open(f"sqlite:///{path}")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("main", ["missing", "empty"])
def test_a_log_whose_database_is_gone_is_not_removed(tmp_path, main):
    path, log = tmp_path / "memory.db", tmp_path / "memory.db-wal"
    log.write_bytes(b"what was said last" * 100)
    if main == "empty":
        path.touch()
    before = contents(tmp_path)
    with pytest.raises(errors.CorruptDatabaseError, match=r"memory\.db-wal"):
        Memory.open(f"sqlite:///{path}")
    assert contents(tmp_path) == before


def test_an_empty_file_becomes_a_database_unless_create_is_false(tmp_path):
    path = tmp_path / "memory.db"
    path.touch()
    with pytest.raises(errors.NotSetUpError, match="perdure setup"):
        Memory.open(f"sqlite:///{path}", create=False)
    assert contents(tmp_path) == {"memory.db": hashlib.sha256(b"").hexdigest()}
    seed(f"sqlite:///{path}")
    with Memory.open(f"sqlite:///{path}", create=False) as memory:
        assert support.values_of(memory.checkpointer, support.config("t0"))


def test_a_file_whose_first_page_was_cut_off_by_a_power_failure_is_begun_again(tmp_path):
    """Its journal says that it was empty before. Found once among ten thousand pretended power failures."""
    path = tmp_path / "memory.db"
    path.write_bytes(bytes(512) + b"\x0d" * 1024)
    journal = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 0, 1, 0, 512, 4096)
    (tmp_path / "memory.db-journal").write_bytes(journal.ljust(512, b"\0"))
    seed(f"sqlite:///{path}")
    with Memory.open(f"sqlite:///{path}", create=False) as memory:
        assert support.values_of(memory.checkpointer, support.config("t0"))


def test_create_false_makes_no_file(tmp_path):
    with pytest.raises(errors.NotSetUpError):
        Memory.open(f"sqlite:///{tmp_path}/memory.db", create=False)
    assert contents(tmp_path) == {}


def test_opening_a_file_again_leaves_the_locks_of_the_first_in_place(file_url):
    """Closing a file by other means than SQLite's would drop every lock this process has on it."""
    with Memory.open(file_url) as memory:
        support.put(memory.checkpointer, support.config("t"), {"n": 1})
        for _ in range(3):
            files.inspect(files.parse(file_url))
            Memory.open(file_url).close()
        program = """
db = apsw.Connection(path)
try:
    db.pragma("journal_mode", "delete")  # needs the file for itself
    say("alone")
except apsw.BusyError:
    say("busy")
"""
        assert processes.run(program, file_url) == "busy"


@pytest.mark.parametrize("path", ["missing/memory.db", "file.txt/memory.db", "n" * 300])
def test_a_place_where_no_file_can_be_is_an_error_that_names_it(tmp_path, path):
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(errors.DatabaseUnavailableError, match=r"memory\.db|nnn"):
        Memory.open(f"sqlite:///{tmp_path}/{path}")


AS_NOBODY = """
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    memory = Memory.open(url)
    found = support.values_of(memory.checkpointer, support.config("t0"))
    say("read", found["text"][:3])
    support.put(memory.checkpointer, support.config("t0"), {"text": "y"})
    say("wrote")
except errors.PerdureError as error:
    say(type(error).__name__)
"""


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o755), (0o444, 0o777), (0o000, 0o777), (0o644, 0o000)])
def test_a_file_or_folder_without_the_right_to_write_is_a_typed_error(tmp_path, file_mode, folder_mode):
    folder = tmp_path / "folder"
    folder.mkdir()
    url = f"sqlite:///{folder}/memory.db"
    seed(url)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    (folder / "memory.db").chmod(file_mode)
    folder.chmod(folder_mode)
    said = processes.run(AS_NOBODY, url).split("\n")
    folder.chmod(0o755)
    assert said[-1] == "DatabaseUnavailableError"
    assert said[:-1] in ([], ["read xxx"])


# Disks that fail


def test_a_full_disk_is_a_typed_error_and_nothing_of_the_call_is_stored(file_url):
    with Memory.open(file_url) as memory:
        saver = memory.checkpointer
        first = support.put(saver, support.config("t"), {"text": "small"})
        connection = memory.engine._connection
        connection.pragma("max_page_count", connection.pragma("page_count") + 3)
        with pytest.raises(errors.DatabaseUnavailableError, match="full"):
            support.put(saver, first, {"text": os.urandom(200_000).hex()})
        with pytest.raises(errors.DatabaseUnavailableError, match="full"):
            memory.store.put(("f",), "k", {"text": os.urandom(200_000).hex()})
        assert support.values_of(saver, support.config("t")) == {"text": "small"}
        assert len(list(saver.list(support.config("t")))) == 1
        connection.pragma("max_page_count", 1_000_000)
        support.put(saver, first, {"text": "later"})
        assert support.values_of(saver, support.config("t")) == {"text": "later"}
        assert all(found.right for found in memory.engine.check())


class Failing(apsw.VFS):
    """A disk on which writes or syncs fail while `broken` names them."""

    def __init__(self, name):
        super().__init__(name, "")
        self.name = name
        self.broken = None

    def xOpen(self, name, flags):  # noqa: N802 - SQLite's name
        return FailingFile(self, name, flags)


class FailingFile(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        self.disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data, offset):  # noqa: N802 - SQLite's name
        if self.disk.broken == "full":
            raise apsw.FullError("no space left")
        super().xWrite(data, offset)

    def xSync(self, flags):  # noqa: N802 - SQLite's name
        if self.disk.broken == "sync":
            raise apsw.IOError("can't sync")
        return super().xSync(flags)


@pytest.mark.parametrize("broken", ["full", "sync"])
def test_a_disk_that_refuses_a_write_or_a_sync_is_an_error_for_everyone_in_the_batch(tmp_path, broken):
    disk = Failing(f"failing-{broken}")
    try:
        with Memory.open(f"sqlite:///{tmp_path}/m.db?vfs={disk.name}") as memory:
            good = support.put(memory.checkpointer, support.config("t"), {"n": 0})
            disk.broken = broken
            failed = []

            def write(number):
                with pytest.raises(errors.DatabaseUnavailableError) as found:
                    support.put(memory.checkpointer, support.config(f"t{number}"), {"text": "x" * 9000})
                failed.append(found.value)

            threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert len(failed) == len(set(map(id, failed))) == 8
            disk.broken = None
            assert [found.config for found in memory.checkpointer.list(None)] == [good]
            support.put(memory.checkpointer, good, {"n": 1})
            assert support.values_of(memory.checkpointer, support.config("t")) == {"n": 1}
    finally:
        disk.unregister()


# Other processes


def test_a_database_that_another_process_holds_is_an_error_in_time(file_url):
    seed(file_url)
    holder = processes.start(
        """
db = apsw.Connection(path)
db.execute("BEGIN IMMEDIATE")
say("held")
hear()
db.execute("ROLLBACK")
""",
        file_url,
    )
    assert holder.heard() == "held"
    with Memory.open(f"{file_url}?timeout=0.2") as memory:
        with pytest.raises(errors.DatabaseLockedError, match=r"0\.2 s"):
            support.put(memory.checkpointer, support.config("t0"), {"n": 1})
        assert support.values_of(memory.checkpointer, support.config("t0"))
        holder.tell()
        holder.end()
        support.put(memory.checkpointer, support.config("t0"), {"n": 1})


def test_a_database_that_another_process_has_for_itself_can_not_be_opened(file_url):
    seed(file_url)
    holder = processes.start(
        """
db = apsw.Connection(path)
db.pragma("locking_mode", "exclusive")
db.execute("BEGIN EXCLUSIVE")
say("held")
hear()
""",
        file_url,
    )
    assert holder.heard() == "held"
    with pytest.raises(errors.DatabaseLockedError):
        Memory.open(f"{file_url}?timeout=0.2")
    holder.tell()
    holder.end()
    Memory.open(file_url).close()


def test_what_eight_processes_write_at_once_is_all_there(file_url):
    program = """
name = rest[0]
memory = Memory.open(url + "?timeout=60")
say("ready")
hear()
where = support.config(name)
for number in range(25):
    where = support.put(memory.checkpointer, where, {"n": number, "list": list(range(number))})
    support.put(memory.checkpointer, support.config("shared"), {"n": [name, number]})
    memory.store.put(("items", name), str(number), {"n": number})
"""
    started = [processes.start(program, file_url, str(number)) for number in range(8)]
    for process in started:
        assert process.heard() == "ready"
    for process in started:
        process.tell()
    for process in started:
        process.end()
    with Memory.open(file_url) as memory:
        saver = memory.checkpointer
        for name in map(str, range(8)):
            found = [item.checkpoint["channel_values"] for item in saver.list(support.config(name))]
            assert found == [{"n": n, "list": list(range(n))} for n in reversed(range(25))]
            assert memory.store.count(("items", name)) == 25
        shared = [item.checkpoint["channel_values"]["n"] for item in saver.list(support.config("shared"))]
        assert sorted(map(tuple, shared)) == sorted((str(name), n) for name in range(8) for n in range(25))
        for name in map(str, range(8)):
            assert [n for who, n in reversed(shared) if who == name] == list(range(25))


def test_processes_that_open_and_close_one_file_again_and_again_never_find_it_strange(file_url):
    """The last one to close empties and removes the log, just when another one looks at the file."""
    program = """
for number in range(60):
    with Memory.open(url + "?timeout=60") as memory:
        support.put(memory.checkpointer, support.config(rest[0]), {"n": number, "text": "x" * 3000})
"""
    started = [processes.start(program, file_url, str(number)) for number in range(4)]
    for process in started:
        process.end()
    with Memory.open(file_url) as memory:
        for name in map(str, range(4)):
            found = [item.checkpoint["channel_values"]["n"] for item in memory.checkpointer.list(support.config(name))]
            assert found == list(reversed(range(60)))


# Forks

FORK = """
memory = Memory.open(url)
saver = memory.checkpointer
put = lambda thread, n=0: support.put(saver, support.config(thread), {"n": n})
def fork(work):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        os._exit(code)
def reap(*pids):
    for pid in pids:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
def is_there(*threads):
    for thread in threads:
        assert support.values_of(saver, support.config(thread)) is not None, thread
"""


def test_a_forked_child_reads_and_writes_and_so_does_its_parent(file_url):
    program = """
put("before")
def child():
    is_there("before")
    put("child")
    memory.close()
pid = fork(child)
put("parent")
reap(pid)
is_there("before", "child", "parent")
put("after")
is_there("after")
"""
    processes.run(FORK + program, file_url)
    with Memory.open(file_url) as memory:
        assert {thread.id for thread in memory.threads.list().threads} == {"before", "child", "parent", "after"}


def test_what_a_forked_child_writes_after_its_parent_closed_is_kept(file_url):
    """Without a lock of its own on the file the child would write into a log that the parent has removed."""
    program = """
put("before")
ours, theirs = os.pipe(), os.pipe()
def child():
    put("child 1")
    os.write(theirs[1], b"x")
    os.read(ours[0], 1)
    put("child 2")
pid = fork(child)
os.read(theirs[0], 1)
memory.close()
os.write(ours[1], b"x")
reap(pid)
"""
    processes.run(FORK + program, file_url)
    with Memory.open(file_url) as memory:
        assert {thread.id for thread in memory.threads.list().threads} == {"before", "child 1", "child 2"}


def test_a_child_that_is_forked_in_the_middle_of_writing_finds_no_lock_held(file_url):
    program = """
stop = threading.Event()
counts = [0] * 4
def write(number):
    while not stop.is_set():
        put(f"parent {number} {counts[number]}")
        counts[number] += 1
        is_there(f"parent {number} 0")
threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for number in range(12):
    def child():
        put(f"child {number}")
        is_there(f"child {number}")
        if number % 2:
            memory.close()
    pid = fork(child)
    reap(pid)
stop.set()
for thread in threads:
    thread.join()
is_there(*[f"child {number}" for number in range(12)])
is_there(*[f"parent {number} {at}" for number in range(4) for at in range(counts[number])])
assert all(found.right for found in memory.engine.check())
say(sum(counts))
"""
    assert int(processes.run(FORK + program, file_url)) > 0


def test_a_forked_child_takes_locks_that_others_see(file_url):
    """A child that believed in its parent's locks would hold none, and two could write at once."""
    program = """
put("before")
is_there("before")
ours, theirs = os.pipe(), os.pipe()
def child():
    put("child")
    engine = memory.engine
    engine._connection.execute("BEGIN IMMEDIATE")
    os.write(theirs[1], b"x")
    os.read(ours[0], 1)
    engine._connection.execute("ROLLBACK")
pid = fork(child)
os.read(theirs[0], 1)
db = apsw.Connection(path) if rest else memory.engine._connection
db.set_busy_timeout(0)
try:
    db.execute("BEGIN IMMEDIATE")
    say("taken twice")
except apsw.BusyError:
    say("taken")
os.write(ours[1], b"x")
reap(pid)
"""
    assert processes.run(FORK + program, file_url) == "taken"


def test_memory_that_is_private_to_a_process_is_copied_by_a_fork():
    program = """
put("before")
def child():
    is_there("before")
    put("child")
    is_there("child")
reap(fork(child))
assert support.values_of(saver, support.config("child")) is None
put("parent")
is_there("before", "parent")
"""
    processes.run(FORK + program, "sqlite://")


def test_a_fork_that_can_not_wait_leaves_a_child_that_says_so(file_url):
    program = """
from perdure.engine import sqlite
sqlite._LONGEST_PAUSE = 0.2
held, go = threading.Event(), threading.Event()
async def work(tx):
    held.set()
    go.wait()
thread = threading.Thread(target=memory.engine.write, args=(work,))
thread.start()
held.wait()
def child():
    for call in (lambda: put("child"), lambda: is_there("child")):
        try:
            call()
            raise AssertionError("it did")
        except errors.DatabaseUnavailableError as error:
            assert "fork" in str(error)
pid = fork(child)
go.set()
thread.join()
reap(pid)
put("parent")
is_there("parent")
"""
    processes.run(FORK + program, file_url)


# Life


def test_a_program_that_changes_its_folder_keeps_its_database(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    monkeypatch.chdir(second)
    seed("sqlite:///memory.db", 1)
    monkeypatch.chdir(first)
    with Memory.open("sqlite:///memory.db") as memory:
        support.put(memory.checkpointer, support.config("mine"), {"n": 1})
        monkeypatch.chdir(second)
        assert support.values_of(memory.checkpointer, support.config("mine")) == {"n": 1}
        assert support.values_of(memory.checkpointer, support.config("t0")) is None


def test_databases_in_memory_are_private_to_their_open():
    with Memory.open("sqlite://") as one, Memory.open("sqlite://") as other:
        support.put(one.checkpointer, support.config("t"), {"n": 1})
        assert support.values_of(other.checkpointer, support.config("t")) is None


def test_every_call_on_a_closed_memory_says_that_it_is_closed(memory):
    saver, store = memory.checkpointer, memory.store
    support.put(saver, support.config("t"), {"n": 1})
    assert support.values_of(saver, support.config("t"))
    memory.close()
    memory.close()
    for call in (
        lambda: support.put(saver, support.config("t"), {"n": 1}),
        lambda: saver.get_tuple(support.config("t")),
        lambda: list(saver.list(support.config("t"))),
        lambda: store.put(("f",), "k", {}),
        lambda: store.get(("f",), "k"),
        memory.threads.list,
        memory.setup,
        memory.engine.check,
    ):
        with pytest.raises(errors.ClosedError):
            call()


@pytest.mark.anyio
async def test_every_async_call_on_a_closed_memory_says_that_it_is_closed(memory):
    saver = memory.checkpointer
    await saver.aget_tuple(support.config("t"))
    await memory.aclose()
    for call in (
        lambda: saver.aget_tuple(support.config("t")),
        lambda: memory.store.aget(("f",), "k"),
        lambda: memory.store.aput(("f",), "k", {}),
        lambda: saver.adelete_thread("t"),
    ):
        with pytest.raises(errors.ClosedError):
            await call()


def test_closing_waits_for_readers_and_leaves_no_file_open(file_url):
    seed(file_url)
    memory = Memory.open(file_url)
    inside, go = threading.Event(), threading.Event()

    async def work(tx):
        inside.set()
        assert go.wait(60)
        return await tx.one("thread_get", tenant="default", thread="t0")

    found = []
    reader = threading.Thread(target=lambda: found.append(memory.engine.read(work)))
    reader.start()
    assert inside.wait(60)
    closer = threading.Thread(target=memory.close)
    closer.start()
    closer.join(0.2)
    assert closer.is_alive()
    go.set()
    closer.join(60)
    reader.join(60)
    assert found
    assert not path_of(file_url).with_name("memory.db-wal").exists()


def test_an_interrupted_reader_gives_its_connection_back_without_a_transaction(file_url):
    seed(file_url)

    async def work(tx):
        await tx.one("thread_get", tenant="default", thread="t0")
        raise KeyboardInterrupt

    with Memory.open(file_url) as memory:
        for _ in range(20):
            with pytest.raises(KeyboardInterrupt):
                memory.engine.read(work)
        assert support.values_of(memory.checkpointer, support.config("t0"))
        assert len(memory.engine._readers.idle) == 1


# Names of statements, and URLs


def test_every_named_statement_can_be_prepared(file_url):
    with Memory.open(file_url) as memory:
        for name, sql in statements.load("sqlite").items():
            try:
                memory.engine._connection.execute(f"EXPLAIN {sql}", _Anything())
            except apsw.Error as error:
                pytest.fail(f"{name}: {error}")


class _Anything(dict):
    def __missing__(self, key):
        return None


names = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="?"), min_size=1, max_size=40)


@given(names.filter(lambda name: name != ":memory:"))
@example("a#b.db")
@example("a%20b.db")
@example("[x].db")
@example("/folder/a b.db")
@example("//two/slashes.db")
@example("日本.db")
def test_the_path_of_a_url_stands_as_it_is(name):
    place = files.parse(f"sqlite:///{name}")
    assert place.path == Path(name)
    assert place.timeout == 10


@given(names, st.floats(0, 3600))
def test_the_options_of_a_url_come_after_its_path(name, timeout):
    place = files.parse(f"sqlite:///x{name}?timeout={timeout!r}&vfs=unix-none")
    assert (place.path, place.timeout, place.vfs) == (Path("x" + name), timeout, "unix-none")


@given(st.text())
def test_any_text_is_a_url_or_a_typed_error(text):
    for url in (text, f"sqlite:{text}", f"sqlite://{text}"):
        try:
            files.parse(url)
        except errors.InvalidUrlError as error:
            assert repr(url) in str(error)  # noqa: PT017 - most texts are errors


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite://agent.db", "sqlite:///agent.db"),
        ("sqlite:agent.db", "sqlite:///agent.db"),
        ("sqlite:///:memory:", "'sqlite://'"),
        ("sqlite:///", "'sqlite://'"),
        ("sqlite:///a.db?timout=3", "timout"),
        ("sqlite:///a.db?timeout=nan", "seconds"),
        ("sqlite:///a.db?timeout=-1", "seconds"),
        ("sqlite:///a.db?timeout=1&timeout=2", "twice"),
        ("sqlite:///a.db?vfs=nowhere", "nowhere"),
        ("sqlite:///a.db?vfs=", "VFS"),
        ("sqlite:///a\0b.db", "control"),
        ("sqlite:///a\nb.db", "control"),
        ("sqlite://[x", "sqlite:///"),
    ],
)
def test_a_wrong_url_is_an_error_that_says_what_was_meant(url, says):
    with pytest.raises(errors.InvalidUrlError, match=None) as found:
        Memory.open(url)
    assert says in str(found.value)


@pytest.mark.parametrize("name", ["a#b.db", "a b.db", "a%20b.db", "é日本.db", "[x].db", "q'\".db"])
def test_a_name_with_unusual_characters_is_the_name_of_the_file(tmp_path, name):
    seed(f"sqlite:///{tmp_path}/{name}", 1)
    assert [found.name for found in tmp_path.iterdir()] == [name]
    with Memory.open(f"sqlite:///{tmp_path}/{name}", create=False) as memory:
        assert support.values_of(memory.checkpointer, support.config("t0"))
