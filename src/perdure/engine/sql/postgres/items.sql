-- Items by their numbers, in the order given: :ids is a JSON list.

-- name: items_of
SELECT i.namespace, i.key, i.version, i.created_at, i.updated_at, i.expires_at, i.ttl, i.value
FROM jsonb_array_elements_text(:ids::jsonb) WITH ORDINALITY j (id, place)
JOIN items i ON i.tenant = :tenant AND i.id = j.id::bigint
ORDER BY j.place;

-- name: items_projections
SELECT i.id, i.projection
FROM jsonb_array_elements_text(:ids::jsonb) WITH ORDINALITY j (id, place)
JOIN items i ON i.tenant = :tenant AND i.id = j.id::bigint
ORDER BY j.place;

-- name: items_sweep
DELETE FROM items WHERE tenant = :tenant AND id IN (
    SELECT id FROM items WHERE tenant = :tenant AND expires_at <= :now
    ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
);
