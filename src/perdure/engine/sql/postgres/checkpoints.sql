-- Writes wait only for what isn't there: not if the thread has begun, or the checkpoint come, meanwhile, because nobody
-- would look for them.
-- name: staged_put
INSERT INTO staged_writes (tenant, thread, ns, checkpoint, task, generation, created_at, payload)
SELECT :tenant, :thread, :ns, :checkpoint, :task, :generation, :now, :payload
WHERE CASE WHEN :generation = 0 THEN NOT EXISTS (
    SELECT 1 FROM threads t WHERE t.tenant = :tenant AND t.thread = :thread
) ELSE NOT EXISTS (
    SELECT 1 FROM checkpoints c WHERE c.tenant = :tenant AND c.id = :checkpoint AND c.generation + 0 = :generation
        AND c.ns + 0 = CASE WHEN :ns = '' THEN 0 ELSE (SELECT s.ns FROM spaces s
            WHERE s.tenant = :tenant AND s.generation = :generation AND s.name = :ns) END
) END
ON CONFLICT (tenant, thread, ns, checkpoint, task)
DO UPDATE SET payload = excluded.payload, generation = excluded.generation;

-- The same for a task that has none waiting.
-- name: staged_add
INSERT INTO staged_writes (tenant, thread, ns, checkpoint, task, generation, created_at, payload)
SELECT :tenant, :thread, :ns, :checkpoint, :task, :generation, :now, :payload
WHERE NOT EXISTS (
    SELECT 1 FROM checkpoints c WHERE c.tenant = :tenant AND c.id = :checkpoint AND c.generation + 0 = :generation
        AND c.ns + 0 = CASE WHEN :ns = '' THEN 0 ELSE (SELECT s.ns FROM spaces s
            WHERE s.tenant = :tenant AND s.generation = :generation AND s.name = :ns) END
);
