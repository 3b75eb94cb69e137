-- Items by their numbers, in the order given: :ids is a JSON list. CROSS JOIN keeps SQLite from beginning with the
-- items of the tenant.

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
FROM json_each(:ids) j CROSS JOIN items i ON i.id = j.value
WHERE i.tenant = :tenant
ORDER BY j.key;

-- Those at the places in :keys, a JSON list of namespaces with keys; each with its number in the list.
-- name: items_get
SELECT
    j.key, i.namespace, i.key, i.version, i.created_at, i.updated_at, i.expires_at, i.ttl,
    CASE WHEN i.ttl IS NULL THEN NULL ELSE (
        SELECT p.refresh FROM item_policies p
        WHERE p.tenant = :tenant AND p.refresh IS NOT NULL AND p.namespace <= i.namespace
            AND substr(i.namespace, 1, length(p.namespace)) = p.namespace
        ORDER BY p.namespace DESC LIMIT 1
    ) END,
    i.about, i.value
FROM json_each(:keys) j CROSS JOIN items i
    ON i.tenant = :tenant AND i.namespace = j.value ->> 0 AND i.key = j.value ->> 1
WHERE i.expires_at IS NULL OR i.expires_at > :now;
