-- Threads: the catalogue. Times are microseconds since 1970, UTC.

-- name: generation_next
UPDATE counters SET value = value + 1 WHERE name = 'generation' RETURNING value;

-- name: thread_get
SELECT generation, epoch, next_seq, revision, bytes, subject, forked
FROM threads WHERE tenant = :tenant AND thread = :thread;

-- name: thread_insert
INSERT INTO threads (tenant, thread, generation, created_at, updated_at)
VALUES (:tenant, :thread, :generation, :now, :now);

-- Not if writes wait for the checkpoint that the process doesn't know of: they are to be adopted first.
-- name: thread_touch
UPDATE threads SET
    revision = revision + 1,
    next_seq = next_seq + :seqs,
    epoch = epoch + :replaced,
    checkpoints = checkpoints + :seqs,
    turns = turns + :turns,
    bytes = bytes + :bytes,
    updated_at = CASE WHEN updated_at > :now THEN updated_at ELSE :now END,
    status = coalesce(:status, status),
    forked = CASE WHEN :forked = 1 THEN 1 ELSE forked END,
    title = coalesce(title, :title),
    subject = coalesce(subject, :subject)
WHERE tenant = :tenant AND thread = :thread AND generation = :generation AND revision = :revision
    AND (SELECT count(*) FROM staged_writes s WHERE s.tenant = :tenant AND s.thread = :thread
        AND s.ns = :ns AND s.checkpoint = :checkpoint) = :staged;

-- name: thread_grow
UPDATE threads SET revision = revision + 1, bytes = bytes + :bytes, status = coalesce(:status, status)
WHERE tenant = :tenant AND thread = :thread AND generation = :generation AND revision = :revision;

-- name: thread_recount
UPDATE threads SET
    revision = revision + 1,
    epoch = epoch + 1,
    turns = CASE WHEN turns > :turns THEN turns - :turns ELSE 0 END,
    status = :status,
    forked = :forked,
    checkpoints = (SELECT count(*) FROM checkpoints c
        WHERE c.tenant = threads.tenant AND c.generation = threads.generation),
    bytes = (SELECT coalesce(sum(length(payload)), 0) FROM checkpoints c
            WHERE c.tenant = threads.tenant AND c.generation = threads.generation)
        + (SELECT coalesce(sum(length(payload)), 0) FROM writes w
            WHERE w.tenant = threads.tenant AND w.generation = threads.generation)
        + (SELECT coalesce(sum(length(payload)), 0) FROM entries e
            WHERE e.tenant = threads.tenant AND e.generation = threads.generation)
WHERE tenant = :tenant AND thread = :thread;

-- name: thread_delete
DELETE FROM threads WHERE tenant = :tenant AND thread = :thread;

-- name: thread_rename
UPDATE threads SET title = :title WHERE tenant = :tenant AND thread = :thread;

-- name: thread_copy
INSERT INTO threads (tenant, thread, generation, next_seq, subject, title, status, forked,
    created_at, updated_at, expires_at, turns, checkpoints, bytes)
SELECT tenant, :target, :generation, next_seq, subject, title, status, forked,
    :now, :now, expires_at, turns, checkpoints, bytes
FROM threads WHERE tenant = :tenant AND thread = :thread;

-- name: tag_put
INSERT INTO thread_tags (tenant, thread, tag) VALUES (:tenant, :thread, :tag)
ON CONFLICT (tenant, thread, tag) DO NOTHING;

-- name: tag_delete
DELETE FROM thread_tags WHERE tenant = :tenant AND thread = :thread AND tag = :tag;

-- name: tags_of
SELECT tag FROM thread_tags WHERE tenant = :tenant AND thread = :thread ORDER BY tag;

-- name: thread_show
SELECT thread, subject, title, status, forked, created_at, updated_at, expires_at, turns, checkpoints, bytes
FROM threads WHERE tenant = :tenant AND thread = :thread;

-- name: thread_page
SELECT thread, subject, title, status, forked, created_at, updated_at, expires_at, turns, checkpoints, bytes
FROM threads
WHERE tenant = :tenant
    AND (updated_at, thread) < (:updated_at, :after)
    AND (:status IS NULL OR CASE WHEN status = 'idle' AND forked = 1 THEN 'forked' ELSE status END = :status)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM thread_tags g
        WHERE g.tenant = threads.tenant AND g.thread = threads.thread AND g.tag = :tag))
    AND (:title IS NULL OR instr(lower(title), lower(:title)) > 0)
ORDER BY updated_at DESC, thread DESC
LIMIT :limit;

-- name: thread_page_of_subject
SELECT thread, subject, title, status, forked, created_at, updated_at, expires_at, turns, checkpoints, bytes
FROM threads
WHERE tenant = :tenant AND subject = :subject
    AND (updated_at, thread) < (:updated_at, :after)
    AND (:status IS NULL OR CASE WHEN status = 'idle' AND forked = 1 THEN 'forked' ELSE status END = :status)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM thread_tags g
        WHERE g.tenant = threads.tenant AND g.thread = threads.thread AND g.tag = :tag))
    AND (:title IS NULL OR instr(lower(title), lower(:title)) > 0)
ORDER BY updated_at DESC, thread DESC
LIMIT :limit;

-- name: totals
SELECT
    (SELECT count(*) FROM threads WHERE tenant = :tenant),
    (SELECT coalesce(sum(checkpoints), 0) FROM threads WHERE tenant = :tenant),
    (SELECT coalesce(sum(bytes), 0) FROM threads WHERE tenant = :tenant);

-- name: tenants
SELECT DISTINCT tenant FROM threads ORDER BY tenant;
