-- Search, where it is said differently here: :ids is a JSON list; transactions end in the order they begin.

-- name: item_changes_mark
SELECT coalesce((SELECT max(n) FROM item_changes WHERE tenant = :tenant), 0) + 1, coalesce((
    SELECT CASE WHEN item IS NULL THEN n ELSE 0 END FROM item_changes WHERE tenant = :tenant ORDER BY n LIMIT 1
), 0);

-- name: item_changes_since
SELECT n, item FROM item_changes
WHERE tenant = :tenant AND n >= :mark AND namespace >= :low AND namespace < :high AND item IS NOT NULL
ORDER BY n LIMIT :limit;

-- name: items_to_shelve
SELECT i.id, i.updated_at, i.fields, i.projection
FROM json_each(:ids) j CROSS JOIN items i ON i.id = j.value
WHERE i.tenant = :tenant AND i.namespace >= :low AND i.namespace < :high
ORDER BY j.key;

-- name: item_vectors_of
SELECT v.item, v.vector
FROM json_each(:ids) j CROSS JOIN item_vectors v ON v.tenant = :tenant AND v.item = j.value AND v.number = :number
ORDER BY j.key, v.place;

-- name: vectors_drop
DELETE FROM item_vectors WHERE rowid IN (
    SELECT rowid FROM item_vectors WHERE tenant = :tenant AND number = :number LIMIT :limit
);

-- name: items_living
SELECT i.id, i.projection
FROM json_each(:ids) j CROSS JOIN items i ON i.id = j.value
WHERE i.tenant = :tenant AND i.namespace >= :low AND i.namespace < :high
    AND (i.expires_at IS NULL OR i.expires_at > :now) AND (i.hidden = 0 OR (i.hidden & :shown) = i.hidden)
ORDER BY j.key;

-- name: items_found
SELECT
    i.id, i.namespace, i.key, i.version, i.created_at, i.updated_at, i.expires_at, i.ttl,
    CASE WHEN i.ttl IS NULL THEN NULL ELSE (
        SELECT p.refresh FROM item_policies p
        WHERE p.tenant = :tenant AND p.refresh IS NOT NULL AND p.namespace <= i.namespace
            AND substr(i.namespace, 1, length(p.namespace)) = p.namespace
        ORDER BY p.namespace DESC LIMIT 1
    ) END,
    i.about, i.value
FROM json_each(:ids) j CROSS JOIN items i ON i.id = j.value
WHERE i.tenant = :tenant AND i.namespace >= :low AND i.namespace < :high
    AND (i.expires_at IS NULL OR i.expires_at > :now) AND (i.hidden = 0 OR (i.hidden & :shown) = i.hidden)
ORDER BY j.key;
