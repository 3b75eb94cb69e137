-- What moving threads and items between databases asks for.

-- name: moves_threads
SELECT thread, checkpoints FROM threads
WHERE tenant = :tenant AND thread > :after ORDER BY thread LIMIT :limit;

-- name: moves_keys
SELECT coalesce(s.name, ''), c.id, c.seq, c.parent FROM checkpoints c
LEFT JOIN spaces s ON s.tenant = c.tenant AND s.generation = c.generation AND s.ns = c.ns
WHERE c.tenant = :tenant AND c.generation = :generation ORDER BY c.seq;

-- name: moves_rename
UPDATE threads SET thread = :target, revision = revision + 1 WHERE tenant = :tenant AND thread = :thread;

-- name: moves_describe
UPDATE threads SET
    title = :title,
    subject = :subject,
    status = :status,
    forked = :forked,
    turns = :turns,
    created_at = :created_at,
    updated_at = :updated_at,
    expires_at = :expires_at,
    revision = revision + 1
WHERE tenant = :tenant AND thread = :thread;

-- name: moves_items
SELECT namespace, key, subject, version, created_at, updated_at, expires_at, ttl, about, fields, value FROM items
WHERE tenant = :tenant AND (namespace, key) > (:namespace, :key)
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY namespace, key LIMIT :limit;

-- name: moves_item
SELECT namespace, key, subject, version, created_at, updated_at, expires_at, ttl, about, fields, value FROM items
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND (expires_at IS NULL OR expires_at > :now);

-- name: moves_item_put
INSERT INTO items (
    tenant, namespace, key, subject, version, created_at, updated_at, expires_at, ttl,
    hidden, embedded, fields, about, projection, value
) VALUES (
    :tenant, :namespace, :key, :subject, :version, :created_at, :updated_at, :expires_at, :ttl,
    :hidden, -1, :fields, :about, :projection, :value
)
ON CONFLICT (tenant, namespace, key) DO UPDATE SET
    subject = excluded.subject,
    version = excluded.version,
    created_at = excluded.created_at,
    updated_at = excluded.updated_at,
    expires_at = excluded.expires_at,
    ttl = excluded.ttl,
    hidden = excluded.hidden,
    embedded = excluded.embedded,
    fields = excluded.fields,
    about = excluded.about,
    projection = excluded.projection,
    value = excluded.value
WHERE items.expires_at <= :now;

-- name: moves_left_behind_totals
SELECT
    (SELECT count(*) FROM item_versions WHERE tenant = :tenant AND (expires_at IS NULL OR expires_at > :now)),
    (SELECT count(*) FROM item_policies WHERE tenant = :tenant);
