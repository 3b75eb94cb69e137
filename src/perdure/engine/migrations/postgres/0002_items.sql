-- Items: long-term memory. The tenant is the first column of every key.
-- A namespace is its labels, each ended by the control character U+001F, after one at the front. No label holds
-- control characters, so the order of the bytes is the order of the labels and a prefix is one range of an index.
-- `projection` is the value as filters see it (docs/reference/filters.md). Times and `ttl` are microseconds.

CREATE TABLE items (
    id bigint GENERATED ALWAYS AS IDENTITY,
    tenant text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    subject text COLLATE "C",
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    expires_at bigint,
    ttl bigint,                              -- how far a read moves expires_at
    projection text NOT NULL,
    value bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (tenant, namespace, key)
);

CREATE UNIQUE INDEX items_by_id ON items (tenant, id);
CREATE INDEX items_by_update ON items (tenant, namespace, updated_at, expires_at);
CREATE INDEX items_by_expiry ON items (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX items_by_subject ON items (tenant, subject) WHERE subject IS NOT NULL;
