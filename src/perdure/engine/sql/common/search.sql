-- What search asks for: the log of changes, what a process keeps of items, and the embeddings.

-- name: items_shelved
SELECT id FROM items WHERE tenant = :tenant AND namespace >= :low AND namespace < :high ORDER BY id;

-- name: embeddings_all
SELECT number, model, dims, fields, state, middle FROM embeddings WHERE tenant = :tenant ORDER BY number;

-- name: embedding_add
INSERT INTO embeddings (tenant, number, model, dims, metric, fields, state, created_at)
VALUES (:tenant, :number, :model, :dims, :metric, :fields, :state, :now)
ON CONFLICT (tenant, number) DO NOTHING;

-- name: embedding_hold
SELECT state FROM embeddings WHERE tenant = :tenant AND number = :number;

-- name: embedding_middle
UPDATE embeddings SET middle = :middle WHERE tenant = :tenant AND number = :number;

-- name: embedding_state
UPDATE embeddings SET state = :state WHERE tenant = :tenant AND number = :number;

-- name: embedding_remove
DELETE FROM embeddings WHERE tenant = :tenant AND number = :number;

-- What had no vectors before the switch has them now.
-- name: items_switched
UPDATE items SET embedded = 1
WHERE tenant = :tenant AND (embedded IS NULL OR embedded = -1) AND EXISTS (
    SELECT 1 FROM item_vectors v WHERE v.tenant = :tenant AND v.item = items.id AND v.number = :number
);

-- Only where the text is still the one that the vectors were made of.
-- name: item_embedded
UPDATE items SET embedded = 1
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND projection = :projection AND coalesce(fields, '') = :fields;

-- name: item_vectors_clear
DELETE FROM item_vectors WHERE tenant = :tenant AND number = :number AND item = (
    SELECT id FROM items WHERE tenant = :tenant AND namespace = :namespace AND key = :key
);

-- name: item_vector_put
INSERT INTO item_vectors (tenant, item, number, place, vector)
SELECT tenant, id, :number, :place, :vector FROM items
WHERE tenant = :tenant AND namespace = :namespace AND key = :key
    AND projection = :projection AND coalesce(fields, '') = :fields
ON CONFLICT (tenant, item, number, place) DO UPDATE SET vector = excluded.vector;

-- Those whose vectors are to follow.
-- name: items_pending
SELECT id, namespace, key, fields, projection FROM items
WHERE tenant = :tenant AND embedded IS NULL AND id > :after ORDER BY id LIMIT :limit;

-- name: items_pending_tenants
SELECT DISTINCT tenant FROM items WHERE embedded IS NULL ORDER BY tenant;

-- All that an embedding has no vectors of; some of them have nothing to embed.
-- name: items_unembedded
SELECT id, namespace, key, fields, projection FROM items i
WHERE tenant = :tenant AND id > :after AND NOT EXISTS (
    SELECT 1 FROM item_vectors v WHERE v.tenant = :tenant AND v.item = i.id AND v.number = :number
)
ORDER BY id LIMIT :limit;

-- name: items_unembedded_count
SELECT count(*) FROM items i WHERE tenant = :tenant AND NOT EXISTS (
    SELECT 1 FROM item_vectors v WHERE v.tenant = :tenant AND v.item = i.id AND v.number = :number
);
