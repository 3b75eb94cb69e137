-- What items were. A version is gone when its own time is over, as the item would be.

-- name: versions_of
SELECT version, updated_at, replaced_at, about, value FROM item_versions
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY updated_at DESC, n DESC LIMIT :limit;

-- name: version_at
SELECT namespace, key, version, created_at, updated_at, expires_at, NULL, NULL, about, value FROM item_versions
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND updated_at <= :at AND replaced_at > :at AND (expires_at IS NULL OR expires_at > :now)
ORDER BY updated_at DESC, n DESC LIMIT 1;

-- Items by their numbers, and versions by theirs below zero.
-- name: items_at
SELECT id, updated_at FROM items
WHERE tenant = :tenant AND namespace >= :low AND namespace < :high AND updated_at <= :at
    AND (expires_at IS NULL OR expires_at > :now) AND (hidden = 0 OR (hidden & :shown) = hidden)
UNION ALL
SELECT -n, updated_at FROM item_versions
WHERE tenant = :tenant AND namespace >= :low AND namespace < :high AND updated_at <= :at AND replaced_at > :at
    AND (expires_at IS NULL OR expires_at > :now) AND (hidden = 0 OR (hidden & :shown) = hidden)
ORDER BY 2 DESC, 1 DESC;

-- name: versions_sweep
DELETE FROM item_versions WHERE n IN (
    SELECT n FROM item_versions WHERE tenant = :tenant AND expires_at <= :now ORDER BY expires_at LIMIT :limit
);
