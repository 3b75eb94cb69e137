-- What items are found by: what is known about them, their vectors, and a log of changes.
-- The table is made anew so that `projection` and `value`, which may be long, stay its last columns.

CREATE TABLE items_with_search (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    subject TEXT,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    ttl INTEGER,                             -- how far a read moves expires_at
    hidden INTEGER NOT NULL DEFAULT 0,       -- 1 superseded, 2 quarantined, 3 both: only for who asks
    embedded INTEGER,                        -- 1 has vectors; 0 nothing to embed; -1 not asked for; NULL pending
    fields TEXT,                             -- the paths it is found by, JSON; [] none, NULL those of the index
    about TEXT,                              -- kind, source, confidence, …, JSON
    projection TEXT NOT NULL,
    value BLOB NOT NULL
) STRICT;

INSERT INTO items_with_search (
    id, tenant, namespace, key, subject, version, created_at, updated_at, expires_at, ttl, embedded, projection, value
) SELECT id, tenant, namespace, key, subject, version, created_at, updated_at, expires_at, ttl, -1, projection, value
FROM items;

DROP TABLE items;
ALTER TABLE items_with_search RENAME TO items;

CREATE UNIQUE INDEX items_by_key ON items (tenant, namespace, key);
CREATE INDEX items_by_update ON items (tenant, namespace, updated_at, expires_at, hidden);
CREATE INDEX items_by_expiry ON items (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX items_by_subject ON items (tenant, subject) WHERE subject IS NOT NULL;
CREATE INDEX items_pending ON items (tenant, id) WHERE embedded IS NULL;

-- Which models have made the vectors of a tenant's items. One is active; another may be building.
CREATE TABLE embeddings (
    tenant TEXT NOT NULL,
    number INTEGER NOT NULL,
    model TEXT NOT NULL,
    dims INTEGER NOT NULL,
    metric TEXT NOT NULL,
    fields TEXT NOT NULL,                    -- the paths of the texts, JSON
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    middle BLOB,                             -- what any text is like, and how languages differ; see core.search.embeddings
    PRIMARY KEY (tenant, number)
) STRICT, WITHOUT ROWID;

-- Little-endian floats of four bytes.
CREATE TABLE item_vectors (
    tenant TEXT NOT NULL,
    item INTEGER NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    vector BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX item_vectors_by_place ON item_vectors (tenant, item, number, place);

-- Which items have changed, in the order of their changes, so that a process knows what it has to look at again.
-- A row without an item ends what was trimmed.
CREATE TABLE item_changes (
    tenant TEXT NOT NULL,
    n INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    item INTEGER,
    PRIMARY KEY (tenant, n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER items_inserted AFTER INSERT ON items BEGIN
    INSERT INTO item_changes (tenant, n, namespace, item) VALUES (
        new.tenant, coalesce((SELECT max(n) FROM item_changes WHERE tenant = new.tenant), 0) + 1, new.namespace, new.id
    );
END;

CREATE TRIGGER items_updated AFTER UPDATE OF namespace, embedded, fields, projection ON items BEGIN
    INSERT INTO item_changes (tenant, n, namespace, item) VALUES (
        new.tenant, coalesce((SELECT max(n) FROM item_changes WHERE tenant = new.tenant), 0) + 1, new.namespace, new.id
    );
END;

CREATE TRIGGER items_moved AFTER UPDATE OF namespace ON items BEGIN
    INSERT INTO item_changes (tenant, n, namespace, item) VALUES (
        old.tenant, coalesce((SELECT max(n) FROM item_changes WHERE tenant = old.tenant), 0) + 1, old.namespace, old.id
    );
END;

-- No vector outlives the text that it was made of.
CREATE TRIGGER items_rewritten AFTER UPDATE OF fields, projection ON items BEGIN
    DELETE FROM item_vectors WHERE tenant = old.tenant AND item = old.id;
END;

CREATE TRIGGER items_deleted AFTER DELETE ON items BEGIN
    DELETE FROM item_vectors WHERE tenant = old.tenant AND item = old.id;
    INSERT INTO item_changes (tenant, n, namespace, item) VALUES (
        old.tenant, coalesce((SELECT max(n) FROM item_changes WHERE tenant = old.tenant), 0) + 1, old.namespace, old.id
    );
END;

-- What items were, in namespaces whose policy keeps it: each row holds from `updated_at` until `replaced_at`.
CREATE TABLE item_versions (
    n INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    subject TEXT,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    replaced_at INTEGER NOT NULL,
    expires_at INTEGER,
    hidden INTEGER NOT NULL,
    about TEXT,
    projection TEXT NOT NULL,
    value BLOB NOT NULL
) STRICT;

CREATE INDEX item_versions_by_time ON item_versions (tenant, namespace, key, updated_at);
CREATE INDEX item_versions_by_expiry ON item_versions (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX item_versions_by_subject ON item_versions (tenant, subject) WHERE subject IS NOT NULL;

-- What holds for the items of a namespace and those below it, unless a longer prefix says otherwise.
CREATE TABLE item_policies (
    tenant TEXT NOT NULL,
    namespace TEXT NOT NULL,
    ttl INTEGER,                             -- microseconds; 0 never; NULL: as a shorter prefix says
    refresh INTEGER,                         -- whether a read moves the end
    history INTEGER,                         -- whether versions are kept
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, namespace)
) STRICT, WITHOUT ROWID;

-- What takes an expired item's place begins with version 1: what has expired leaves no version.
CREATE TRIGGER items_replaced AFTER UPDATE OF version ON items
WHEN new.version > old.version AND (
    SELECT p.history FROM item_policies p
    WHERE p.tenant = old.tenant AND p.history IS NOT NULL AND p.namespace <= old.namespace
        AND substr(old.namespace, 1, length(p.namespace)) = p.namespace
    ORDER BY p.namespace DESC LIMIT 1
) = 1
BEGIN
    INSERT INTO item_versions (
        tenant, namespace, key, subject, version, created_at, updated_at, replaced_at, expires_at,
        hidden, about, projection, value
    ) VALUES (
        old.tenant, old.namespace, old.key, old.subject, old.version, old.created_at, old.updated_at, new.updated_at,
        old.expires_at, old.hidden, old.about, old.projection, old.value
    );
END;
