-- What items are found by: what is known about them, their vectors, and a log of changes.

ALTER TABLE items
    ADD COLUMN hidden bigint NOT NULL DEFAULT 0,   -- 1 superseded, 2 quarantined, 3 both: only for who asks
    ADD COLUMN embedded bigint DEFAULT -1,         -- 1 has vectors; 0 nothing to embed; -1 not asked for; NULL pending
    ADD COLUMN fields text,                        -- the paths it is found by, JSON; [] none, NULL those of the index
    ADD COLUMN about text;                         -- kind, source, confidence, …, JSON

DROP INDEX items_by_update;
CREATE INDEX items_by_update ON items (tenant, namespace, updated_at, expires_at, hidden);
CREATE INDEX items_pending ON items (tenant, id) WHERE embedded IS NULL;

-- Of two indexes that seem to cost the same, as they do before anybody has made statistics, the planner takes the one
-- that was made last. One item is to be found by its key, not among all of its namespace.
ALTER TABLE items DROP CONSTRAINT items_pkey, ADD PRIMARY KEY (tenant, namespace, key);

-- Which models have made the vectors of a tenant's items. One is active; another may be building.
CREATE TABLE embeddings (
    tenant text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    model text NOT NULL,
    dims bigint NOT NULL,
    metric text NOT NULL,
    fields text NOT NULL,                    -- the paths of the texts, JSON
    state text NOT NULL,
    created_at bigint NOT NULL,
    middle real[],                           -- what any text is like, and how languages differ; see core.search.embeddings
    PRIMARY KEY (tenant, number)
);


CREATE TABLE item_vectors (
    item bigint NOT NULL,
    number bigint NOT NULL,
    place bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    vector real[] STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (tenant, item, number, place)
);

-- Which items have changed, so that a process knows what it has to look at again. Transactions end in another order
-- than they begin: who has looked asks again for everything since the oldest that was still under way.
-- A row without an item ends what was trimmed.
CREATE TABLE item_changes (
    tx bigint NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    n bigint GENERATED ALWAYS AS IDENTITY,
    item bigint,
    tenant text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, tx, n)
);

CREATE FUNCTION item_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM item_vectors WHERE tenant = OLD.tenant AND item = OLD.id;
        INSERT INTO item_changes (tenant, namespace, item) VALUES (OLD.tenant, OLD.namespace, OLD.id);
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        -- No vector outlives the text that it was made of.
        IF NEW.projection <> OLD.projection OR NEW.fields IS DISTINCT FROM OLD.fields THEN
            DELETE FROM item_vectors WHERE tenant = OLD.tenant AND item = OLD.id;
        END IF;
        IF NEW.namespace <> OLD.namespace THEN
            INSERT INTO item_changes (tenant, namespace, item) VALUES (OLD.tenant, OLD.namespace, OLD.id);
        END IF;
    END IF;
    INSERT INTO item_changes (tenant, namespace, item) VALUES (NEW.tenant, NEW.namespace, NEW.id);
    RETURN NULL;
END
$$;

CREATE TRIGGER items_changed AFTER INSERT OR DELETE OR UPDATE OF namespace, embedded, fields, projection ON items
FOR EACH ROW EXECUTE FUNCTION item_changed();

-- What items were, in namespaces whose policy keeps it: each row holds from `updated_at` until `replaced_at`.
CREATE TABLE item_versions (
    n bigint GENERATED ALWAYS AS IDENTITY,
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    replaced_at bigint NOT NULL,
    expires_at bigint,
    hidden bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    subject text COLLATE "C",
    about text,
    projection text NOT NULL,
    value bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (tenant, namespace, key, updated_at, n)
);

CREATE UNIQUE INDEX item_versions_by_number ON item_versions (tenant, n);
CREATE INDEX item_versions_by_expiry ON item_versions (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX item_versions_by_subject ON item_versions (tenant, subject) WHERE subject IS NOT NULL;

-- What holds for the items of a namespace and those below it, unless a longer prefix says otherwise.
CREATE TABLE item_policies (
    tenant text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    ttl bigint,                              -- microseconds; 0 never; NULL: as a shorter prefix says
    refresh bigint,                          -- whether a read moves the end
    history bigint,                          -- whether versions are kept
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant, namespace)
);

-- What takes an expired item's place begins with version 1: what has expired leaves no version.
CREATE FUNCTION item_replaced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (
        SELECT p.history FROM item_policies p
        WHERE p.tenant = OLD.tenant AND p.history IS NOT NULL AND p.namespace <= OLD.namespace
            AND starts_with(OLD.namespace, p.namespace)
        ORDER BY p.namespace DESC LIMIT 1
    ) = 1 THEN
        INSERT INTO item_versions (
            tenant, namespace, key, subject, version, created_at, updated_at, replaced_at, expires_at,
            hidden, about, projection, value
        ) VALUES (
            OLD.tenant, OLD.namespace, OLD.key, OLD.subject, OLD.version, OLD.created_at, OLD.updated_at,
            NEW.updated_at, OLD.expires_at, OLD.hidden, OLD.about, OLD.projection, OLD.value
        );
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER items_replaced AFTER UPDATE OF version ON items
FOR EACH ROW WHEN (NEW.version > OLD.version) EXECUTE FUNCTION item_replaced();

ALTER TABLE embeddings ENABLE ROW LEVEL SECURITY;
ALTER TABLE embeddings FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON embeddings
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE item_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE item_vectors FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON item_vectors
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE item_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE item_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON item_changes
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE item_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE item_versions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON item_versions
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

CREATE POLICY operator ON item_versions FOR SELECT
    USING ((SELECT current_setting('perdure.operator', true)) = 'on');

ALTER TABLE item_policies ENABLE ROW LEVEL SECURITY;
ALTER TABLE item_policies FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON item_policies
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));
