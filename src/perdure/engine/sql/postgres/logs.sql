-- Many rows of one thread in one statement: what differs comes as arrays.

-- name: entry_put_many
INSERT INTO entries (tenant, generation, log, pos, payload)
SELECT :tenant, :generation, new.log, new.pos, new.payload
FROM unnest(:log::bigint[], :pos::bigint[], :payload::bytea[]) AS new (log, pos, payload);

-- name: digest_put_many
INSERT INTO digests (tenant, generation, digest, log, pos)
SELECT :tenant, :generation, new.digest, new.log, new.pos
FROM unnest(:digest::bytea[], :log::bigint[], :pos::bigint[]) AS new (digest, log, pos);

-- name: entry_delete_many
DELETE FROM entries USING unnest(:log::bigint[], :pos::bigint[]) AS gone (log, pos)
WHERE entries.tenant = :tenant AND entries.generation = :generation
    AND entries.log = gone.log AND entries.pos = gone.pos;

-- name: digest_delete_many
DELETE FROM digests WHERE tenant = :tenant AND generation = :generation AND digest = ANY (:digest::bytea[]);
