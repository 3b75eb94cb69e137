-- Rows by table, for people who look.

-- name: row_counts
SELECT 'threads', count(*) FROM threads WHERE tenant = :tenant
UNION ALL SELECT 'thread_tags', count(*) FROM thread_tags WHERE tenant = :tenant
UNION ALL SELECT 'spaces', count(*) FROM spaces WHERE tenant = :tenant
UNION ALL SELECT 'checkpoints', count(*) FROM checkpoints WHERE tenant = :tenant
UNION ALL SELECT 'writes', count(*) FROM writes WHERE tenant = :tenant
UNION ALL SELECT 'staged_writes', count(*) FROM staged_writes WHERE tenant = :tenant
UNION ALL SELECT 'logs', count(*) FROM logs WHERE tenant = :tenant
UNION ALL SELECT 'entries', count(*) FROM entries WHERE tenant = :tenant
UNION ALL SELECT 'digests', count(*) FROM digests WHERE tenant = :tenant
UNION ALL SELECT 'items', count(*) FROM items WHERE tenant = :tenant
UNION ALL SELECT 'embeddings', count(*) FROM embeddings WHERE tenant = :tenant
UNION ALL SELECT 'item_vectors', count(*) FROM item_vectors WHERE tenant = :tenant
UNION ALL SELECT 'item_changes', count(*) FROM item_changes WHERE tenant = :tenant
UNION ALL SELECT 'item_versions', count(*) FROM item_versions WHERE tenant = :tenant
UNION ALL SELECT 'item_policies', count(*) FROM item_policies WHERE tenant = :tenant;
