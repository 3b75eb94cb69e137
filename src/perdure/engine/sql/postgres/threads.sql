-- Taken in blocks, so that most new threads cost no question.
-- name: generation_next
SELECT nextval('generations') FROM generate_series(1, 32);

-- name: thread_lock
SELECT generation, epoch, next_seq, revision, bytes, subject, forked
FROM threads WHERE tenant = :tenant AND thread = :thread FOR UPDATE;

-- Until a thread has a row to lock, its beginning and the writes that are staged for it exclude each other by this.
-- name: thread_mutex
SELECT pg_advisory_xact_lock(hashtextextended(:tenant || chr(31) || :thread, 0));

-- name: totals
SELECT
    (SELECT count(*) FROM threads WHERE tenant = :tenant),
    (SELECT coalesce(sum(checkpoints), 0)::bigint FROM threads WHERE tenant = :tenant),
    (SELECT coalesce(sum(bytes), 0)::bigint FROM threads WHERE tenant = :tenant);

-- name: thread_page
SELECT thread, subject, title, status, forked, created_at, updated_at, expires_at, turns, checkpoints, bytes
FROM threads
WHERE tenant = :tenant
    AND (updated_at, thread) < (:updated_at, :after)
    AND (:status::text IS NULL OR CASE WHEN status = 'idle' AND forked = 1 THEN 'forked' ELSE status END = :status)
    AND (:tag::text IS NULL OR EXISTS (SELECT 1 FROM thread_tags g
        WHERE g.tenant = threads.tenant AND g.thread = threads.thread AND g.tag = :tag))
    AND (:title::text IS NULL OR strpos(lower(title), lower(:title::text COLLATE "C")) > 0)
ORDER BY updated_at DESC, thread DESC
LIMIT :limit;

-- name: thread_page_of_subject
SELECT thread, subject, title, status, forked, created_at, updated_at, expires_at, turns, checkpoints, bytes
FROM threads
WHERE tenant = :tenant AND subject = :subject
    AND (updated_at, thread) < (:updated_at, :after)
    AND (:status::text IS NULL OR CASE WHEN status = 'idle' AND forked = 1 THEN 'forked' ELSE status END = :status)
    AND (:tag::text IS NULL OR EXISTS (SELECT 1 FROM thread_tags g
        WHERE g.tenant = threads.tenant AND g.thread = threads.thread AND g.tag = :tag))
    AND (:title::text IS NULL OR strpos(lower(title), lower(:title::text COLLATE "C")) > 0)
ORDER BY updated_at DESC, thread DESC
LIMIT :limit;
