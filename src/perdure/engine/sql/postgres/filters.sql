-- Items that may meet a filter. :path is a jsonpath that is true for them, :variables are what it compares with; each
-- is read once, in a subquery of its own. Projections are looked at from the newest item on, so that LIMIT spares the rest.

-- name: items_matching
SELECT i.id
FROM (
    SELECT id, updated_at FROM items
    WHERE tenant = :tenant AND namespace >= :low AND namespace < :high
        AND (expires_at IS NULL OR expires_at > :now) AND (hidden = 0 OR (hidden & :shown) = hidden)
    ORDER BY updated_at DESC, id DESC OFFSET 0
) i
CROSS JOIN LATERAL (SELECT projection FROM items WHERE tenant = :tenant AND id = i.id LIMIT 1) p
WHERE strpos(p.projection, :needle::text) > 0
    AND jsonb_path_match(p.projection::jsonb, (SELECT :path::text::jsonpath), (SELECT :variables::text::jsonb), true)
ORDER BY i.updated_at DESC, i.id DESC LIMIT :limit;

-- Of the items by these numbers, those in whose projection the text :needle stands.
-- name: items_candidates
SELECT i.id, i.projection
FROM jsonb_array_elements_text(:ids::jsonb) WITH ORDINALITY j (id, place)
CROSS JOIN LATERAL (SELECT id, projection FROM items WHERE tenant = :tenant AND id = j.id::bigint LIMIT 1) i
WHERE strpos(i.projection, :needle::text) > 0
ORDER BY j.place;
