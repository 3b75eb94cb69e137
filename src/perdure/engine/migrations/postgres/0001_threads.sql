-- Threads, their checkpoints, and what checkpoints point to.
-- The tenant is the first column of every key; generation is the second, but for checkpoints by id. A thread's rows hang on its generation, a number
-- that no other thread ever had, so a deleted thread can't come back under its own name.
-- Text is compared by its bytes, as on the other engine, so every text column that has an order is COLLATE "C".
-- Payloads are compressed already; PostgreSQL need not try again.

CREATE TABLE migrations (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    applied_at bigint NOT NULL
);

CREATE SEQUENCE generations AS bigint;

-- Times are microseconds since 1970, UTC.
CREATE TABLE threads (
    tenant text COLLATE "C" NOT NULL,
    thread text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    epoch bigint NOT NULL DEFAULT 0,         -- raised when entries are removed: cached places are void
    revision bigint NOT NULL DEFAULT 0,      -- raised by every change of the thread's rows
    next_seq bigint NOT NULL DEFAULT 1,
    subject text COLLATE "C",
    title text COLLATE "C",
    status text NOT NULL DEFAULT 'idle',
    forked integer NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    expires_at bigint,
    turns bigint NOT NULL DEFAULT 0,
    checkpoints bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, thread)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX threads_by_generation ON threads (tenant, generation);
CREATE INDEX threads_by_update ON threads (tenant, updated_at, thread);
CREATE INDEX threads_by_subject ON threads (tenant, subject, updated_at, thread) WHERE subject IS NOT NULL;

CREATE TABLE thread_tags (
    tenant text COLLATE "C" NOT NULL,
    thread text COLLATE "C" NOT NULL,
    tag text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, thread, tag),
    FOREIGN KEY (tenant, thread) REFERENCES threads (tenant, thread) ON DELETE CASCADE
);

CREATE INDEX thread_tags_by_tag ON thread_tags (tenant, tag, thread);

-- Checkpoint namespaces by number; 0 is the root and has no row.
CREATE TABLE spaces (
    tenant text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    ns integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, generation, ns)
);

CREATE UNIQUE INDEX spaces_by_name ON spaces (tenant, generation, name);

-- seq orders a thread's checkpoints over all its namespaces. Columns of fixed width come first: that saves padding.
-- The id comes first in its key, because the planner must have no reason to look for it among all of a thread, however
-- little it knows of the table; and ids rise with time, so that the key grows at its end.
CREATE TABLE checkpoints (
    generation bigint NOT NULL,
    ns integer NOT NULL,
    seq integer NOT NULL,
    parent integer,                          -- seq
    tenant text COLLATE "C" NOT NULL,
    id bytea NOT NULL,
    run text COLLATE "C",
    payload bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (tenant, id, generation, ns) WITH (fillfactor = 100)
);

CREATE UNIQUE INDEX checkpoints_by_seq ON checkpoints (tenant, generation, ns, seq) WITH (fillfactor = 100);
CREATE INDEX checkpoints_by_run ON checkpoints (tenant, run) WHERE run IS NOT NULL;

-- Pending writes: a row for each task of a checkpoint.
CREATE TABLE writes (
    generation bigint NOT NULL,
    seq integer NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    task bytea NOT NULL,
    payload bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (tenant, generation, seq, task) WITH (fillfactor = 100)
);

-- Writes that came before their checkpoint: seen by nobody until it comes, and gone after a while.
CREATE TABLE staged_writes (
    tenant text COLLATE "C" NOT NULL,
    thread text COLLATE "C" NOT NULL,
    ns text COLLATE "C" NOT NULL,
    checkpoint bytea NOT NULL,
    task bytea NOT NULL,
    generation bigint NOT NULL,              -- 0: the payload points to no entries
    created_at bigint NOT NULL,
    payload bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (tenant, thread, ns, checkpoint, task)
);

CREATE INDEX staged_writes_by_age ON staged_writes (tenant, created_at);

-- Append-only logs of immutable entries.
CREATE TABLE logs (
    tenant text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    log integer NOT NULL,
    PRIMARY KEY (tenant, generation, name)
);

CREATE TABLE entries (
    generation bigint NOT NULL,
    log integer NOT NULL,
    pos integer NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    payload bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (tenant, generation, log, pos) WITH (fillfactor = 100)
);

-- Where an entry with this content is already kept.
CREATE TABLE digests (
    generation bigint NOT NULL,
    log integer NOT NULL,
    pos integer NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (tenant, generation, digest)
);
