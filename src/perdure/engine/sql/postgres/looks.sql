-- What a run and a write begin with, asked by names, so that one round trip brings it all.
-- MATERIALIZED: otherwise the planner may read all of a thread, and look afterwards which row was meant.
-- `+ 0` on what is compared beside an id keeps it from the same by the index of seqs: it holds threads for small.

-- The last column is the parent's id.
-- name: latest_get
WITH place AS MATERIALIZED (
    SELECT t.generation, CASE WHEN :space = '' THEN 0 ELSE (SELECT s.ns FROM spaces s
        WHERE s.tenant = :tenant AND s.generation = t.generation AND s.name = :space) END AS ns
    FROM threads t WHERE t.tenant = :tenant AND t.thread = :thread
), head AS MATERIALIZED (
    SELECT generation, ns, (SELECT max(m.seq) FROM checkpoints m
        WHERE m.tenant = :tenant AND m.generation = place.generation AND m.ns = place.ns) AS seq
    FROM place
)
SELECT c.ns, c.seq, c.id, c.parent, c.payload, (SELECT p.id FROM checkpoints p
    WHERE p.tenant = :tenant AND p.generation = c.generation AND p.ns = c.ns AND p.seq = c.parent)
FROM head JOIN checkpoints c
    ON c.tenant = :tenant AND c.generation = head.generation AND c.ns = head.ns AND c.seq = head.seq;

-- name: latest_writes
WITH place AS MATERIALIZED (
    SELECT t.generation, CASE WHEN :space = '' THEN 0 ELSE (SELECT s.ns FROM spaces s
        WHERE s.tenant = :tenant AND s.generation = t.generation AND s.name = :space) END AS ns
    FROM threads t WHERE t.tenant = :tenant AND t.thread = :thread
), head AS MATERIALIZED (
    SELECT generation, (SELECT max(m.seq) FROM checkpoints m
        WHERE m.tenant = :tenant AND m.generation = place.generation AND m.ns = place.ns) AS seq
    FROM place
)
SELECT w.seq, w.task, w.payload FROM head JOIN writes w
    ON w.tenant = :tenant AND w.generation = head.generation AND w.seq = head.seq;

-- The same for a thread and a namespace whose numbers are known.
-- name: head_get
SELECT c.ns, c.seq, c.id, c.parent, c.payload, (SELECT p.id FROM checkpoints p
    WHERE p.tenant = :tenant AND p.generation = :generation AND p.ns = :ns AND p.seq = c.parent)
FROM checkpoints c WHERE c.tenant = :tenant AND c.generation = :generation AND c.ns = :ns
ORDER BY c.seq DESC LIMIT 1;

-- name: head_writes
SELECT seq, task, payload FROM writes
WHERE tenant = :tenant AND generation = :generation AND seq = (SELECT max(m.seq) FROM checkpoints m
    WHERE m.tenant = :tenant AND m.generation = :generation AND m.ns = :ns);

-- name: named_get
WITH place AS MATERIALIZED (
    SELECT t.generation, CASE WHEN :space = '' THEN 0 ELSE (SELECT s.ns FROM spaces s
        WHERE s.tenant = :tenant AND s.generation = t.generation AND s.name = :space) END AS ns
    FROM threads t WHERE t.tenant = :tenant AND t.thread = :thread
)
SELECT c.ns, c.seq, c.id, c.parent, c.payload, (SELECT p.id FROM checkpoints p
    WHERE p.tenant = :tenant AND p.generation = c.generation AND p.ns = c.ns AND p.seq = c.parent)
FROM place JOIN checkpoints c
    ON c.tenant = :tenant AND c.id = :id AND c.generation + 0 = place.generation AND c.ns + 0 = place.ns;

-- name: named_writes
WITH place AS MATERIALIZED (
    SELECT t.generation, CASE WHEN :space = '' THEN 0 ELSE (SELECT s.ns FROM spaces s
        WHERE s.tenant = :tenant AND s.generation = t.generation AND s.name = :space) END AS ns
    FROM threads t WHERE t.tenant = :tenant AND t.thread = :thread
), named AS MATERIALIZED (
    SELECT c.generation, c.seq FROM place JOIN checkpoints c
        ON c.tenant = :tenant AND c.id = :id AND c.generation + 0 = place.generation AND c.ns + 0 = place.ns
)
SELECT w.seq, w.task, w.payload FROM named JOIN writes w
    ON w.tenant = :tenant AND w.generation = named.generation AND w.seq = named.seq;

-- What a write finds: the number of its namespace, the newest seq there, its own and that of the one it follows.
-- name: write_context
WITH place AS MATERIALIZED (
    SELECT t.generation, CASE WHEN :space = '' THEN 0 ELSE (SELECT s.ns FROM spaces s
        WHERE s.tenant = :tenant AND s.generation = t.generation AND s.name = :space) END AS ns
    FROM threads t WHERE t.tenant = :tenant AND t.thread = :thread
)
SELECT ns,
    (SELECT max(m.seq) FROM checkpoints m
        WHERE m.tenant = :tenant AND m.generation = place.generation AND m.ns = place.ns),
    (SELECT c.seq FROM checkpoints c
        WHERE c.tenant = :tenant AND c.id = :id AND c.generation + 0 = place.generation AND c.ns + 0 = place.ns),
    (SELECT p.seq FROM checkpoints p
        WHERE p.tenant = :tenant AND p.id = :parent AND p.generation + 0 = place.generation AND p.ns + 0 = place.ns)
FROM place;

-- name: checkpoint_get
SELECT ns, seq, id, parent, payload FROM checkpoints
WHERE tenant = :tenant AND id = :id AND generation + 0 = :generation AND ns + 0 = :ns;

-- name: checkpoint_anywhere
SELECT ns, seq, id, parent, payload FROM checkpoints
WHERE tenant = :tenant AND id = :id AND generation + 0 = :generation ORDER BY seq DESC;

-- name: checkpoint_seq
SELECT seq FROM checkpoints
WHERE tenant = :tenant AND id = :id AND generation + 0 = :generation AND ns + 0 = :ns;
