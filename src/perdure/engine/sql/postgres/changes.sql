-- Nobody else's change may come between looking at a row and changing it.

-- name: item_lock
SELECT fields, namespace, key, version, created_at, updated_at, expires_at, ttl, NULL, about, value FROM items
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND (expires_at IS NULL OR expires_at > :now)
FOR UPDATE;

-- What is removed is kept by the statement that removes it: another row may have come into its place before.
-- name: item_keep
SELECT WHERE false;

-- name: item_delete
WITH gone AS (
    DELETE FROM items
    WHERE tenant = :tenant AND namespace = :namespace AND key = :key AND version >= :least AND version <= :most
    AND (expires_at IS NULL OR expires_at > :alive)
    RETURNING subject, version, created_at, updated_at, expires_at, hidden, about, projection, value
), kept AS (
    INSERT INTO item_versions (
        tenant, namespace, key, subject, version, created_at, updated_at, replaced_at, expires_at,
        hidden, about, projection, value
    )
    SELECT
        :tenant, :namespace, :key, subject, version, created_at, updated_at,
        CASE WHEN updated_at < :now THEN :now ELSE updated_at + 1 END, expires_at,
        hidden, about, projection, value
    FROM gone
    WHERE (expires_at IS NULL OR expires_at > :now) AND (
        SELECT p.history FROM item_policies p
        WHERE p.tenant = :tenant AND p.history IS NOT NULL AND p.namespace <= :namespace
            AND starts_with(:namespace, p.namespace)
        ORDER BY p.namespace DESC LIMIT 1
    ) = 1
)
SELECT 1 FROM gone;

-- The log of changes is cut at a row that is so new that only :kept are newer, and at most :limit rows at once. A row
-- without an item ends what was trimmed. No transaction that is still under way may add one before it.
-- name: changes_cut
SELECT cut.tx, cut.n
FROM (SELECT tx, n FROM item_changes WHERE tenant = :tenant ORDER BY tx DESC, n DESC LIMIT 1 OFFSET :kept) kept
CROSS JOIN LATERAL (
    SELECT kept.tx, kept.n
    UNION ALL
    (SELECT tx, n FROM item_changes WHERE tenant = :tenant ORDER BY tx, n LIMIT 1 OFFSET :limit)
) cut
WHERE (cut.tx, cut.n) <= (kept.tx, kept.n)
    AND cut.tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    AND EXISTS (SELECT FROM item_changes e WHERE e.tenant = :tenant AND (e.tx, e.n) < (cut.tx, cut.n))
ORDER BY cut.tx, cut.n LIMIT 1;

-- name: changes_mark
UPDATE item_changes SET item = NULL WHERE tenant = :tenant AND tx = :tx AND n = :n;

-- name: changes_trim
DELETE FROM item_changes WHERE tenant = :tenant AND (tx, n) < (:tx, :n);
