-- Items by their numbers, in the order given: :ids is a JSON list. CROSS JOIN keeps SQLite from beginning with the
-- items of the tenant.

-- name: items_of
SELECT i.namespace, i.key, i.version, i.created_at, i.updated_at, i.expires_at, i.ttl, i.about, i.value
FROM json_each(:ids) j CROSS JOIN items i ON i.id = j.value
WHERE i.tenant = :tenant
ORDER BY j.key;
