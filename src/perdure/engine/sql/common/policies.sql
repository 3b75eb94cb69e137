-- What holds for the items below a prefix, field by field.

-- name: policies_of
SELECT namespace, ttl, refresh, history FROM item_policies WHERE tenant = :tenant ORDER BY namespace;

-- name: policy_put
INSERT INTO item_policies (tenant, namespace, ttl, refresh, history, updated_at)
VALUES (:tenant, :namespace, :ttl, :refresh, :history, :now)
ON CONFLICT (tenant, namespace) DO UPDATE SET
    ttl = CASE WHEN :ttl_said = 1 THEN excluded.ttl ELSE item_policies.ttl END,
    refresh = CASE WHEN :refresh_said = 1 THEN excluded.refresh ELSE item_policies.refresh END,
    history = CASE WHEN :history_said = 1 THEN excluded.history ELSE item_policies.history END,
    updated_at = excluded.updated_at;

-- name: policy_drop
DELETE FROM item_policies
WHERE tenant = :tenant AND namespace = :namespace AND ttl IS NULL AND refresh IS NULL AND history IS NULL;
