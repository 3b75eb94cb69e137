-- Namespaces with all that is in them. :source and :target are packed; what follows the source is kept.

-- name: namespace_counts
SELECT namespace, count(*) FROM items
WHERE tenant = :tenant AND namespace >= :low AND namespace < :high AND (expires_at IS NULL OR expires_at > :now)
GROUP BY namespace ORDER BY namespace;

-- What has expired is in nobody's way.
-- name: namespace_clear
DELETE FROM items WHERE tenant = :tenant AND namespace >= :low AND namespace < :high AND expires_at <= :now;

-- name: namespace_clashes
SELECT t.namespace, t.key FROM items s JOIN items t
    ON t.tenant = :tenant AND t.namespace = :target || substr(s.namespace, length(:source) + 1) AND t.key = s.key
WHERE s.tenant = :tenant AND s.namespace >= :low AND s.namespace < :high LIMIT 1;

-- name: namespace_move
UPDATE items SET namespace = :target || substr(namespace, length(:source) + 1)
WHERE tenant = :tenant AND namespace >= :low AND namespace < :high;

-- name: namespace_move_versions
UPDATE item_versions SET namespace = :target || substr(namespace, length(:source) + 1)
WHERE tenant = :tenant AND namespace >= :low AND namespace < :high;

-- name: namespace_copy
INSERT INTO items (
    tenant, namespace, key, subject, version, created_at, updated_at, expires_at, ttl,
    hidden, embedded, fields, about, projection, value
)
SELECT tenant, :target || substr(namespace, length(:source) + 1), key, subject, 1, :now, :now, expires_at, ttl,
    hidden, embedded, fields, about, projection, value
FROM items WHERE tenant = :tenant AND namespace >= :low AND namespace < :high;

-- name: namespace_copy_vectors
INSERT INTO item_vectors (tenant, item, number, place, vector)
SELECT t.tenant, t.id, v.number, v.place, v.vector
FROM items s
JOIN items t ON t.tenant = :tenant AND t.namespace = :target || substr(s.namespace, length(:source) + 1) AND t.key = s.key
JOIN item_vectors v ON v.tenant = :tenant AND v.item = s.id
WHERE s.tenant = :tenant AND s.namespace >= :low AND s.namespace < :high;
