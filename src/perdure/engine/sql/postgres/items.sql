-- Items by their numbers, in the order given: :ids is a JSON list. LIMIT keeps the planner from reading all instead.

-- name: items_of
SELECT
    i.namespace, i.key, i.version, i.created_at, i.updated_at, i.expires_at, i.ttl,
    CASE WHEN i.ttl IS NULL THEN NULL ELSE (
        SELECT p.refresh FROM item_policies p
        WHERE p.tenant = :tenant AND p.refresh IS NOT NULL AND p.namespace <= i.namespace
            AND substr(i.namespace, 1, length(p.namespace)) = p.namespace
        ORDER BY p.namespace DESC LIMIT 1
    ) END,
    i.about, i.value
FROM jsonb_array_elements_text(:ids::jsonb) WITH ORDINALITY j (id, place)
CROSS JOIN LATERAL (
    SELECT namespace, key, version, created_at, updated_at, expires_at, ttl, about, value FROM items
    WHERE tenant = :tenant AND id = j.id::bigint LIMIT 1
) i
ORDER BY j.place;

-- name: items_sweep
DELETE FROM items WHERE tenant = :tenant AND ctid = ANY (ARRAY(
    SELECT ctid FROM items WHERE tenant = :tenant AND expires_at <= :now
    ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
));
