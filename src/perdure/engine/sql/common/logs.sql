-- Entries and the logs they lie in.

-- name: log_end
SELECT l.log, (SELECT coalesce(max(e.pos), -1) + 1 FROM entries e
    WHERE e.tenant = l.tenant AND e.generation = l.generation AND e.log = l.log)
FROM logs l WHERE l.tenant = :tenant AND l.generation = :generation AND l.name = :name;

-- name: log_count
SELECT count(*) FROM logs WHERE tenant = :tenant AND generation = :generation;

-- name: log_put
INSERT INTO logs (tenant, generation, name, log) VALUES (:tenant, :generation, :name, :log);

-- name: logs_of
SELECT l.name, l.log, count(e.pos), coalesce(sum(length(e.payload)), 0) FROM logs l
LEFT JOIN entries e ON e.tenant = l.tenant AND e.generation = l.generation AND e.log = l.log
WHERE l.tenant = :tenant AND l.generation = :generation
GROUP BY l.name, l.log ORDER BY l.log;

-- name: entry_put
INSERT INTO entries (tenant, generation, log, pos, payload)
VALUES (:tenant, :generation, :log, :pos, :payload);

-- name: entry_fill
UPDATE entries SET payload = :payload
WHERE tenant = :tenant AND generation = :generation AND log = :log AND pos = :pos;

-- name: entry_range
SELECT pos, payload FROM entries
WHERE tenant = :tenant AND generation = :generation AND log = :log AND pos >= :low AND pos < :high
ORDER BY pos;

-- name: entries_of
SELECT log, pos, payload FROM entries WHERE tenant = :tenant AND generation = :generation ORDER BY log, pos;

-- name: entry_places
SELECT log, pos FROM entries WHERE tenant = :tenant AND generation = :generation;

-- name: entry_delete
DELETE FROM entries WHERE tenant = :tenant AND generation = :generation AND log = :log AND pos = :pos;

-- name: digest_get
SELECT log, pos FROM digests WHERE tenant = :tenant AND generation = :generation AND digest = :digest;

-- name: digest_put
INSERT INTO digests (tenant, generation, digest, log, pos)
VALUES (:tenant, :generation, :digest, :log, :pos);

-- name: digests_of
SELECT digest, log, pos FROM digests WHERE tenant = :tenant AND generation = :generation;

-- name: digest_delete
DELETE FROM digests WHERE tenant = :tenant AND generation = :generation AND digest = :digest;

-- name: logs_delete
DELETE FROM logs WHERE tenant = :tenant AND generation = :generation;

-- name: entries_delete
DELETE FROM entries WHERE tenant = :tenant AND generation = :generation;

-- name: digests_delete
DELETE FROM digests WHERE tenant = :tenant AND generation = :generation;

-- name: logs_copy
INSERT INTO logs (tenant, generation, name, log)
SELECT tenant, :target, name, log FROM logs WHERE tenant = :tenant AND generation = :generation;

-- name: entries_copy
INSERT INTO entries (tenant, generation, log, pos, payload)
SELECT tenant, :target, log, pos, payload FROM entries
WHERE tenant = :tenant AND generation = :generation ORDER BY log, pos;

-- name: digests_copy
INSERT INTO digests (tenant, generation, digest, log, pos)
SELECT tenant, :target, digest, log, pos FROM digests WHERE tenant = :tenant AND generation = :generation;

-- Where each log of a thread ends; nothing if the thread is as it was.
-- name: log_ends
SELECT l.name, l.log, coalesce((SELECT e.pos FROM entries e
    WHERE e.tenant = :tenant AND e.generation = l.generation AND e.log = l.log ORDER BY e.pos DESC LIMIT 1), -1) + 1
FROM threads t JOIN logs l ON l.tenant = :tenant AND l.generation = t.generation
WHERE t.tenant = :tenant AND t.thread = :thread AND t.revision <> :revision;
