-- Not if the thread has begun meanwhile: nobody would look for what is staged.
-- name: staged_put
INSERT INTO staged_writes (tenant, thread, ns, checkpoint, task, generation, created_at, payload)
SELECT :tenant, :thread, :ns, :checkpoint, :task, :generation, :now, :payload
WHERE :generation <> 0 OR NOT EXISTS (SELECT 1 FROM threads t WHERE t.tenant = :tenant AND t.thread = :thread)
ON CONFLICT (tenant, thread, ns, checkpoint, task)
DO UPDATE SET payload = excluded.payload, generation = excluded.generation;
