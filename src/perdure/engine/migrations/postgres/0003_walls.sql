-- The second wall between tenants. Every statement names its tenant; should one ever forget, the server shows and
-- takes only rows of the tenant that the transaction was begun for (`SET LOCAL perdure.tenant`), and none without one.
-- FORCE binds the owner of the tables too. Superusers and roles with BYPASSRLS walk through: see
-- docs/how-to/use-postgresql.md for the role that an application should use.
-- `perdure.operator` opens threads and items for reading only: a sweep has to learn which tenants there are.

ALTER TABLE threads ENABLE ROW LEVEL SECURITY;
ALTER TABLE threads FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON threads
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));
CREATE POLICY operator ON threads FOR SELECT
    USING ((SELECT current_setting('perdure.operator', true)) = 'on');

ALTER TABLE thread_tags ENABLE ROW LEVEL SECURITY;
ALTER TABLE thread_tags FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON thread_tags
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE spaces FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON spaces
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON checkpoints
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE writes ENABLE ROW LEVEL SECURITY;
ALTER TABLE writes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON writes
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE staged_writes ENABLE ROW LEVEL SECURITY;
ALTER TABLE staged_writes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON staged_writes
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE logs ENABLE ROW LEVEL SECURITY;
ALTER TABLE logs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logs
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE entries FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON entries
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE digests ENABLE ROW LEVEL SECURITY;
ALTER TABLE digests FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON digests
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

ALTER TABLE items ENABLE ROW LEVEL SECURITY;
ALTER TABLE items FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON items
    USING (tenant = (SELECT current_setting('perdure.tenant', true)));

CREATE POLICY operator ON items FOR SELECT
    USING ((SELECT current_setting('perdure.operator', true)) = 'on');
