-- A writer is alone here: nothing to lock.
-- name: thread_lock
SELECT generation, epoch, next_seq, revision, bytes, subject, forked
FROM threads WHERE tenant = :tenant AND thread = :thread;

-- name: thread_mutex
SELECT 1;
