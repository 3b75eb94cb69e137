-- Checkpoints, pending writes, namespaces. `generation` stands for the thread.

-- name: space_get
SELECT ns FROM spaces WHERE tenant = :tenant AND generation = :generation AND name = :name;

-- name: space_put
INSERT INTO spaces (tenant, generation, ns, name) VALUES (:tenant, :generation, :ns, :name);

-- name: space_next
SELECT coalesce(max(ns), 0) + 1 FROM spaces WHERE tenant = :tenant AND generation = :generation;

-- name: space_name
SELECT name FROM spaces WHERE tenant = :tenant AND generation = :generation AND ns = :ns;

-- name: checkpoint_get
SELECT ns, seq, id, parent, payload FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND ns = :ns AND id = :id;

-- name: checkpoint_anywhere
SELECT ns, seq, id, parent, payload FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND id = :id ORDER BY seq DESC;

-- name: checkpoint_seq
SELECT seq FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND ns = :ns AND id = :id;

-- name: checkpoint_at
SELECT ns, seq, id, parent, payload FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND ns = :ns AND seq = :seq;

-- name: checkpoint_id
SELECT id FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND ns = :ns AND seq = :seq;

-- name: checkpoint_head
SELECT ns, seq, id, parent, payload FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND ns = :ns
ORDER BY seq DESC LIMIT 1;

-- name: checkpoint_head_seq
SELECT seq FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND ns = :ns
ORDER BY seq DESC LIMIT 1;

-- name: checkpoint_put
INSERT INTO checkpoints (tenant, generation, ns, seq, id, parent, run, payload)
VALUES (:tenant, :generation, :ns, :seq, :id, :parent, :run, :payload);

-- name: checkpoint_replace
UPDATE checkpoints SET parent = :parent, run = :run, payload = :payload
WHERE tenant = :tenant AND generation = :generation AND ns = :ns AND seq = :seq;

-- name: checkpoint_page
SELECT ns, seq, id, parent, payload FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND ns = :ns AND seq < :below
ORDER BY seq DESC LIMIT :limit;

-- name: checkpoint_page_all
SELECT ns, seq, id, parent, payload FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND seq < :below
ORDER BY seq DESC LIMIT :limit;

-- name: checkpoint_rows
SELECT ns, seq, id, parent, payload FROM checkpoints
WHERE tenant = :tenant AND generation = :generation ORDER BY seq;

-- name: checkpoint_heads
SELECT ns, max(seq) FROM checkpoints
WHERE tenant = :tenant AND generation = :generation GROUP BY ns;

-- name: checkpoint_links
SELECT ns, seq, parent FROM checkpoints
WHERE tenant = :tenant AND generation = :generation;

-- CROSS JOIN keeps SQLite from starting with every checkpoint of the namespace.
-- name: checkpoint_ancestors
WITH RECURSIVE chain (seq, parent, depth) AS (
    SELECT seq, parent, 0 FROM checkpoints
    WHERE tenant = :tenant AND generation = :generation AND ns = :ns AND seq = :seq
    UNION ALL
    SELECT c.seq, c.parent, chain.depth + 1 FROM chain CROSS JOIN checkpoints c
    WHERE c.tenant = :tenant AND c.generation = :generation AND c.ns = :ns AND c.seq = chain.parent
        AND chain.depth < :limit
)
SELECT c.ns, c.seq, c.id, c.parent, c.payload FROM chain CROSS JOIN checkpoints c
WHERE c.tenant = :tenant AND c.generation = :generation AND c.ns = :ns AND c.seq = chain.seq
ORDER BY chain.depth;

-- name: checkpoint_delete
DELETE FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND ns = :ns AND seq = :seq;

-- name: checkpoint_reparent
UPDATE checkpoints SET parent = :parent
WHERE tenant = :tenant AND generation = :generation AND ns = :ns AND seq = :seq;

-- name: checkpoints_delete
DELETE FROM checkpoints WHERE tenant = :tenant AND generation = :generation;

-- name: run_threads
SELECT DISTINCT t.thread FROM checkpoints c
JOIN threads t ON t.tenant = c.tenant AND t.generation = c.generation
WHERE c.tenant = :tenant AND c.run = :run;

-- name: run_checkpoints
SELECT ns, seq FROM checkpoints
WHERE tenant = :tenant AND generation = :generation AND run = :run;

-- name: writes_of
SELECT task, payload FROM writes
WHERE tenant = :tenant AND generation = :generation AND seq = :seq;

-- name: writes_between
SELECT seq, task, payload FROM writes
WHERE tenant = :tenant AND generation = :generation AND seq >= :low AND seq <= :high;

-- name: write_get
SELECT payload FROM writes
WHERE tenant = :tenant AND generation = :generation AND seq = :seq AND task = :task;

-- name: write_add
INSERT INTO writes (tenant, generation, seq, task, payload)
VALUES (:tenant, :generation, :seq, :task, :payload);

-- name: write_put
INSERT INTO writes (tenant, generation, seq, task, payload)
VALUES (:tenant, :generation, :seq, :task, :payload)
ON CONFLICT (tenant, generation, seq, task) DO UPDATE SET payload = excluded.payload;

-- name: writes_delete_of
DELETE FROM writes WHERE tenant = :tenant AND generation = :generation AND seq = :seq;

-- name: writes_delete
DELETE FROM writes WHERE tenant = :tenant AND generation = :generation;

-- name: staged_put
INSERT INTO staged_writes (tenant, thread, ns, checkpoint, task, generation, created_at, payload)
VALUES (:tenant, :thread, :ns, :checkpoint, :task, :generation, :now, :payload)
ON CONFLICT (tenant, thread, ns, checkpoint, task)
DO UPDATE SET payload = excluded.payload, generation = excluded.generation;

-- name: staged_of
SELECT task, generation, payload FROM staged_writes
WHERE tenant = :tenant AND thread = :thread AND ns = :ns AND checkpoint = :checkpoint;

-- name: staged_of_thread
SELECT payload FROM staged_writes
WHERE tenant = :tenant AND thread = :thread AND generation = :generation;

-- name: staged_delete_of
DELETE FROM staged_writes
WHERE tenant = :tenant AND thread = :thread AND ns = :ns AND checkpoint = :checkpoint;

-- name: staged_delete
DELETE FROM staged_writes WHERE tenant = :tenant AND thread = :thread;

-- name: staged_expire
DELETE FROM staged_writes WHERE tenant = :tenant AND created_at < :before;

-- name: spaces_delete
DELETE FROM spaces WHERE tenant = :tenant AND generation = :generation;

-- name: spaces_copy
INSERT INTO spaces (tenant, generation, ns, name)
SELECT tenant, :target, ns, name FROM spaces WHERE tenant = :tenant AND generation = :generation;

-- name: checkpoints_copy
INSERT INTO checkpoints (tenant, generation, ns, seq, id, parent, run, payload)
SELECT tenant, :target, ns, seq, id, parent, run, payload
FROM checkpoints WHERE tenant = :tenant AND generation = :generation ORDER BY seq;

-- name: writes_copy
INSERT INTO writes (tenant, generation, seq, task, payload)
SELECT tenant, :target, seq, task, payload FROM writes WHERE tenant = :tenant AND generation = :generation;

-- name: checkpoint_totals
SELECT count(*), coalesce(sum(length(payload)), 0), count(DISTINCT ns) FROM checkpoints
WHERE tenant = :tenant AND generation = :generation;

-- name: write_totals
SELECT count(*), coalesce(sum(length(payload)), 0) FROM writes
WHERE tenant = :tenant AND generation = :generation;

-- name: writes_all
SELECT task, payload FROM writes WHERE tenant = :tenant AND generation = :generation;
