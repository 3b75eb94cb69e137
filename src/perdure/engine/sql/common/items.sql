-- Items. Every read leaves out what has expired, whether it was swept or not.

-- Whether a read moves the end is what the policy says that has the longest prefix; NULL: none says anything.
-- name: item_get
SELECT
    namespace, key, version, created_at, updated_at, expires_at, ttl,
    CASE WHEN ttl IS NULL THEN NULL ELSE (
        SELECT p.refresh FROM item_policies p
        WHERE p.tenant = :tenant AND p.refresh IS NOT NULL AND p.namespace <= items.namespace
            AND substr(items.namespace, 1, length(p.namespace)) = p.namespace
        ORDER BY p.namespace DESC LIMIT 1
    ) END,
    about, value
FROM items
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND (expires_at IS NULL OR expires_at > :now);

-- What a put doesn't say of its end (:said = 0), the policy says that has the longest prefix, or else :fallback.
-- name: item_put
INSERT INTO items (
    tenant, namespace, key, subject, version, created_at, updated_at, expires_at, ttl,
    hidden, embedded, fields, about, projection, value
)
SELECT
    :tenant, :namespace, :key, :subject, 1, :now, :now, coalesce(:expires_at, :start + ends.ttl), ends.ttl,
    :hidden, :embedded, :fields, :about, :projection, :value
FROM (
    SELECT CASE WHEN :said = 1 THEN :ttl ELSE nullif(coalesce((
        SELECT p.ttl FROM item_policies p
        WHERE p.tenant = :tenant AND p.ttl IS NOT NULL AND p.namespace <= :namespace
            AND substr(:namespace, 1, length(p.namespace)) = p.namespace
        ORDER BY p.namespace DESC LIMIT 1
    ), :fallback), 0) END AS ttl
) ends
WHERE true
ON CONFLICT (tenant, namespace, key) DO UPDATE SET
    subject = CASE WHEN items.expires_at <= :now THEN excluded.subject ELSE coalesce(excluded.subject, items.subject) END,
    version = CASE WHEN items.expires_at <= :now THEN 1 ELSE items.version + 1 END,
    created_at = CASE WHEN items.expires_at <= :now THEN :now ELSE items.created_at END,
    updated_at = CASE WHEN items.updated_at < :now THEN :now ELSE items.updated_at + 1 END,
    expires_at = excluded.expires_at,
    ttl = excluded.ttl,
    hidden = excluded.hidden,
    embedded = excluded.embedded,
    fields = excluded.fields,
    about = excluded.about,
    projection = excluded.projection,
    value = excluded.value;

-- name: item_refresh
UPDATE items SET expires_at = :now + ttl
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND expires_at = :seen AND expires_at > :now;

-- Those that are hidden for a reason in :shown are found too.
-- name: items_newest
SELECT id FROM items
WHERE tenant = :tenant AND namespace >= :low AND namespace < :high
    AND (expires_at IS NULL OR expires_at > :now) AND (hidden = 0 OR (hidden & :shown) = hidden)
ORDER BY updated_at DESC, id DESC
LIMIT :limit OFFSET :offset;

-- name: items_count
SELECT count(*) FROM items
WHERE tenant = :tenant AND namespace >= :low AND namespace < :high
    AND (expires_at IS NULL OR expires_at > :now);

-- name: items_sweep
DELETE FROM items WHERE id IN (
    SELECT id FROM items WHERE tenant = :tenant AND expires_at <= :now ORDER BY expires_at LIMIT :limit
);

-- name: items_expiring_tenants
SELECT tenant FROM items WHERE expires_at <= :now
UNION
SELECT tenant FROM item_versions WHERE expires_at <= :now
ORDER BY tenant;

-- Goes from one tenant to the next by the index.
-- name: items_tenants
WITH RECURSIVE found (tenant) AS (
    SELECT min(tenant) FROM items
    UNION ALL
    SELECT (SELECT min(i.tenant) FROM items i WHERE i.tenant > found.tenant) FROM found WHERE found.tenant IS NOT NULL
)
SELECT tenant FROM found WHERE tenant IS NOT NULL;

-- Goes from one namespace to the next by the index, however many items each has.
-- name: namespaces_page
WITH RECURSIVE found (namespace, n) AS (
    SELECT min(namespace), 1 FROM items
    WHERE tenant = :tenant AND namespace >= :low AND namespace < :high
        AND (expires_at IS NULL OR expires_at > :now)
    UNION ALL
    SELECT (
        SELECT min(i.namespace) FROM items i
        WHERE i.tenant = :tenant AND i.namespace > found.namespace AND i.namespace < :high
            AND (i.expires_at IS NULL OR i.expires_at > :now)
    ), n + 1
    FROM found WHERE found.namespace IS NOT NULL AND n < :limit
)
SELECT namespace FROM found WHERE namespace IS NOT NULL ORDER BY namespace;
