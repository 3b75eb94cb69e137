-- :ids is a JSON list of numbers as items_at gives them. LIMIT keeps the planner from reading all instead.
-- name: items_then
SELECT
    f.projection, f.namespace, f.key, f.version, f.created_at, f.updated_at, f.expires_at, NULL, NULL, f.about, f.value
FROM jsonb_array_elements_text(:ids::jsonb) WITH ORDINALITY j (id, place)
CROSS JOIN LATERAL (
    (SELECT projection, namespace, key, version, created_at, updated_at, expires_at, about, value FROM items
    WHERE tenant = :tenant AND id = j.id::bigint LIMIT 1)
    UNION ALL
    (SELECT projection, namespace, key, version, created_at, updated_at, expires_at, about, value FROM item_versions
    WHERE tenant = :tenant AND n = -j.id::bigint LIMIT 1)
) f
ORDER BY j.place;

-- name: versions_sweep
DELETE FROM item_versions WHERE tenant = :tenant AND ctid = ANY (ARRAY(
    SELECT ctid FROM item_versions WHERE tenant = :tenant AND expires_at <= :now
    ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
));
