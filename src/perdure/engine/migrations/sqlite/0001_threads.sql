-- Threads, their checkpoints, and what checkpoints point to.
-- The tenant is the first column of every key. A thread's rows hang on its generation, a number
-- that no other thread ever had, so a deleted thread can't come back under its own name.

CREATE TABLE migrations (
    name TEXT PRIMARY KEY,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO counters (name, value) VALUES ('generation', 0);

-- Times are microseconds since 1970, UTC.
CREATE TABLE threads (
    tenant TEXT NOT NULL,
    thread TEXT NOT NULL,
    generation INTEGER NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,       -- raised when entries are removed: cached places are void
    next_seq INTEGER NOT NULL DEFAULT 1,
    subject TEXT,
    title TEXT,
    status TEXT NOT NULL DEFAULT 'idle',
    forked INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    turns INTEGER NOT NULL DEFAULT 0,
    checkpoints INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, thread)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX threads_by_generation ON threads (tenant, generation);
CREATE INDEX threads_by_update ON threads (tenant, updated_at, thread);
CREATE INDEX threads_by_subject ON threads (tenant, subject, updated_at, thread) WHERE subject IS NOT NULL;

CREATE TABLE thread_tags (
    tenant TEXT NOT NULL,
    thread TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (tenant, thread, tag),
    FOREIGN KEY (tenant, thread) REFERENCES threads (tenant, thread) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX thread_tags_by_tag ON thread_tags (tenant, tag, thread);

-- Checkpoint namespaces by number; 0 is the root and has no row.
CREATE TABLE spaces (
    tenant TEXT NOT NULL,
    generation INTEGER NOT NULL,
    ns INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (tenant, generation, ns)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX spaces_by_name ON spaces (tenant, generation, name);

-- seq orders a thread's checkpoints over all its namespaces. Rows are appended in rowid order,
-- which keeps pages full and long payloads out of overflow pages.
CREATE TABLE checkpoints (
    tenant TEXT NOT NULL,
    generation INTEGER NOT NULL,
    ns INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id BLOB NOT NULL,
    parent INTEGER,                          -- seq
    run TEXT,
    payload BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX checkpoints_by_seq ON checkpoints (tenant, generation, ns, seq);
CREATE UNIQUE INDEX checkpoints_by_id ON checkpoints (tenant, generation, ns, id);
CREATE INDEX checkpoints_by_run ON checkpoints (tenant, run) WHERE run IS NOT NULL;

-- Pending writes: a row for each task of a checkpoint.
CREATE TABLE writes (
    tenant TEXT NOT NULL,
    generation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    task BLOB NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (tenant, generation, seq, task)
) STRICT, WITHOUT ROWID;

-- Writes that came before their checkpoint: seen by nobody until it comes, and gone after a while.
CREATE TABLE staged_writes (
    tenant TEXT NOT NULL,
    thread TEXT NOT NULL,
    ns TEXT NOT NULL,
    checkpoint BLOB NOT NULL,
    task BLOB NOT NULL,
    generation INTEGER NOT NULL,             -- 0: the payload points to no entries
    created_at INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (tenant, thread, ns, checkpoint, task)
) STRICT, WITHOUT ROWID;

CREATE INDEX staged_writes_by_age ON staged_writes (tenant, created_at);

-- Append-only logs of immutable entries.
CREATE TABLE logs (
    tenant TEXT NOT NULL,
    generation INTEGER NOT NULL,
    name TEXT NOT NULL,
    log INTEGER NOT NULL,
    PRIMARY KEY (tenant, generation, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE entries (
    tenant TEXT NOT NULL,
    generation INTEGER NOT NULL,
    log INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX entries_by_place ON entries (tenant, generation, log, pos);

-- Where an entry with this content is already kept.
CREATE TABLE digests (
    tenant TEXT NOT NULL,
    generation INTEGER NOT NULL,
    digest BLOB NOT NULL,
    log INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    PRIMARY KEY (tenant, generation, digest)
) STRICT, WITHOUT ROWID;
