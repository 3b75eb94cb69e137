-- Items changed on a condition, and removed.

-- An item that has expired is absent.
-- name: item_add
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
    subject = excluded.subject,
    version = 1,
    created_at = :now,
    updated_at = CASE WHEN items.updated_at < :now THEN :now ELSE items.updated_at + 1 END,
    expires_at = excluded.expires_at,
    ttl = excluded.ttl,
    hidden = excluded.hidden,
    embedded = excluded.embedded,
    fields = excluded.fields,
    about = excluded.about,
    projection = excluded.projection,
    value = excluded.value
WHERE items.expires_at <= :now
RETURNING version, created_at, updated_at, expires_at, ttl;

-- :said = 2 leaves the end where it is. :if_updated, where it isn't NULL, tells the item that was read from another one
-- that was made in its place, and is at the same version by now.
-- name: item_change
UPDATE items SET
    subject = coalesce(:subject, subject),
    version = version + 1,
    updated_at = CASE WHEN updated_at < :now THEN :now ELSE updated_at + 1 END,
    expires_at = CASE WHEN :said = 2 THEN expires_at ELSE coalesce(:expires_at, :start + ends.ttl) END,
    ttl = CASE WHEN :said = 2 THEN items.ttl ELSE ends.ttl END,
    hidden = :hidden,
    embedded = :embedded,
    fields = :fields,
    about = :about,
    projection = :projection,
    value = :value
FROM (
    SELECT CASE WHEN :said = 1 THEN :ttl ELSE nullif(coalesce((
        SELECT p.ttl FROM item_policies p
        WHERE p.tenant = :tenant AND p.ttl IS NOT NULL AND p.namespace <= :namespace
            AND substr(:namespace, 1, length(p.namespace)) = p.namespace
        ORDER BY p.namespace DESC LIMIT 1
    ), :fallback), 0) END AS ttl
) ends
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND version = :if_version AND updated_at = coalesce(:if_updated, updated_at) AND (expires_at IS NULL OR expires_at > :now);

-- name: item_read
SELECT fields, namespace, key, version, created_at, updated_at, expires_at, ttl, NULL, about, value FROM items
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND (expires_at IS NULL OR expires_at > :now);

-- name: item_lock
SELECT fields, namespace, key, version, created_at, updated_at, expires_at, ttl, NULL, about, value FROM items
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND (expires_at IS NULL OR expires_at > :now);

-- What is about to be removed is kept as a version if the policy says so, and if it hasn't expired.
-- name: item_keep
INSERT INTO item_versions (
    tenant, namespace, key, subject, version, created_at, updated_at, replaced_at, expires_at,
    hidden, about, projection, value
)
SELECT
    tenant, namespace, key, subject, version, created_at, updated_at,
    CASE WHEN updated_at < :now THEN :now ELSE updated_at + 1 END, expires_at,
    hidden, about, projection, value
FROM items
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND (expires_at IS NULL OR expires_at > :now)
    AND (
        SELECT p.history FROM item_policies p
        WHERE p.tenant = :tenant AND p.history IS NOT NULL AND p.namespace <= :namespace
            AND substr(:namespace, 1, length(p.namespace)) = p.namespace
        ORDER BY p.namespace DESC LIMIT 1
    ) = 1;

-- name: item_delete
DELETE FROM items
WHERE tenant = :tenant AND namespace = :namespace AND key = :key AND version >= :least AND version <= :most
    AND (expires_at IS NULL OR expires_at > :alive);

-- name: item_purge
DELETE FROM items
WHERE tenant = :tenant AND namespace = :namespace AND key = :key AND version >= :least AND version <= :most
    AND (expires_at IS NULL OR expires_at > :alive);

-- name: item_forget
DELETE FROM item_versions WHERE tenant = :tenant AND namespace = :namespace AND key = :key;
