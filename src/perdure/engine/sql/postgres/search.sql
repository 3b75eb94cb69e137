-- Search, where it is said differently here: :ids is a JSON list; LIMIT keeps the planner from reading all instead.
-- Transactions end in another order than they begin, so the mark is the oldest that may still be under way.

-- name: item_changes_mark
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, coalesce((
    SELECT CASE WHEN item IS NULL THEN tx ELSE 0 END FROM item_changes WHERE tenant = :tenant ORDER BY tx, n LIMIT 1
), 0);

-- name: item_changes_since
SELECT n, item FROM item_changes
WHERE tenant = :tenant AND tx >= :mark AND namespace >= :low AND namespace < :high AND item IS NOT NULL
ORDER BY tx, n LIMIT :limit;

-- Nobody retires it before this transaction has ended.
-- name: embedding_hold
SELECT state FROM embeddings WHERE tenant = :tenant AND number = :number FOR SHARE;

-- name: items_to_shelve
SELECT i.id, i.updated_at, i.fields, i.projection
FROM jsonb_array_elements_text(:ids::jsonb) WITH ORDINALITY j (id, place)
CROSS JOIN LATERAL (
    SELECT id, updated_at, fields, projection FROM items
    WHERE tenant = :tenant AND id = j.id::bigint AND namespace >= :low AND namespace < :high LIMIT 1
) i
ORDER BY j.place;

-- name: item_vectors_of
SELECT v.item, v.vector
FROM jsonb_array_elements_text(:ids::jsonb) WITH ORDINALITY j (id, place)
CROSS JOIN LATERAL (
    SELECT item, place, vector FROM item_vectors
    WHERE tenant = :tenant AND item = j.id::bigint AND number = :number ORDER BY place LIMIT 10000
) v
ORDER BY j.place, v.place;

-- Only where pgvector is installed. Exact: the distance of every vector below the prefix.
-- name: vectors_nearest
SELECT item, 1 - distance FROM (
    SELECT v.item, min(v.vector::vector <=> ((:query)::real[])::vector) AS distance
    FROM items i JOIN item_vectors v ON v.tenant = :tenant AND v.item = i.id AND v.number = :number
    WHERE i.tenant = :tenant AND i.namespace >= :low AND i.namespace < :high
        AND (i.expires_at IS NULL OR i.expires_at > :now)
    GROUP BY v.item
) found
ORDER BY distance LIMIT :limit;

-- name: vectors_drop
DELETE FROM item_vectors WHERE tenant = :tenant AND ctid = ANY (ARRAY(
    SELECT ctid FROM item_vectors WHERE tenant = :tenant AND number = :number LIMIT :limit
));

-- name: items_living
SELECT i.id, i.projection
FROM jsonb_array_elements_text(:ids::jsonb) WITH ORDINALITY j (id, place)
CROSS JOIN LATERAL (
    SELECT id, projection FROM items
    WHERE tenant = :tenant AND id = j.id::bigint AND namespace >= :low AND namespace < :high
        AND (expires_at IS NULL OR expires_at > :now) AND (hidden = 0 OR (hidden & :shown) = hidden) LIMIT 1
) i
ORDER BY j.place;

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
FROM jsonb_array_elements_text(:ids::jsonb) WITH ORDINALITY j (id, place)
CROSS JOIN LATERAL (
    SELECT id, namespace, key, version, created_at, updated_at, expires_at, ttl, about, value FROM items
    WHERE tenant = :tenant AND id = j.id::bigint AND namespace >= :low AND namespace < :high
        AND (expires_at IS NULL OR expires_at > :now) AND (hidden = 0 OR (hidden & :shown) = hidden) LIMIT 1
) i
ORDER BY j.place;
