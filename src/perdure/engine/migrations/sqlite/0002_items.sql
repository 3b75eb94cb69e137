-- Items: long-term memory. The tenant is the first column of every key.
-- A namespace is its labels, each ended by the control character U+001F, after one at the front. No label holds
-- control characters, so the order of the bytes is the order of the labels and a prefix is one range of an index.
-- `projection` is the value as filters see it (docs/reference/filters.md); it stands before `value`, which may be
-- long, so that looking at it doesn't read the other. Times and `ttl` are microseconds.

CREATE TABLE items (
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
    projection TEXT NOT NULL,
    value BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX items_by_key ON items (tenant, namespace, key);
CREATE INDEX items_by_update ON items (tenant, namespace, updated_at, expires_at);
CREATE INDEX items_by_expiry ON items (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX items_by_subject ON items (tenant, subject) WHERE subject IS NOT NULL;
