-- The log of changes is cut at a row that is so new that only :kept are newer, and at most :limit rows at once. A row
-- without an item ends what was trimmed.

-- name: changes_cut
SELECT 0, min(kept.n, coalesce((
    SELECT n FROM item_changes WHERE tenant = :tenant ORDER BY n LIMIT 1 OFFSET :limit
), kept.n))
FROM (SELECT n FROM item_changes WHERE tenant = :tenant ORDER BY n DESC LIMIT 1 OFFSET :kept) kept
WHERE kept.n > (SELECT min(n) FROM item_changes WHERE tenant = :tenant);

-- name: changes_mark
UPDATE item_changes SET item = NULL WHERE tenant = :tenant AND n = :n;

-- name: changes_trim
DELETE FROM item_changes WHERE tenant = :tenant AND n < :n;
