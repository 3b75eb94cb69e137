-- :ids is a JSON list of numbers as items_at gives them.
-- name: items_then
SELECT
    coalesce(i.projection, v.projection), coalesce(i.namespace, v.namespace), coalesce(i.key, v.key),
    coalesce(i.version, v.version), coalesce(i.created_at, v.created_at), coalesce(i.updated_at, v.updated_at),
    CASE WHEN j.value > 0 THEN i.expires_at ELSE v.expires_at END, NULL, NULL,
    CASE WHEN j.value > 0 THEN i.about ELSE v.about END, coalesce(i.value, v.value)
FROM json_each(:ids) j
LEFT JOIN items i ON i.id = j.value AND i.tenant = :tenant
LEFT JOIN item_versions v ON v.n = -j.value AND v.tenant = :tenant
WHERE i.id IS NOT NULL OR v.n IS NOT NULL
ORDER BY j.key;
