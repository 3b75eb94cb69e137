-- Of the items by these numbers, in the order given, those in whose projection the text :needle stands: :ids is a JSON
-- list. Each is found by its number, and the others are never read as JSON.

-- name: items_candidates
SELECT i.id, i.projection
FROM json_each(:ids) j CROSS JOIN items i ON i.id = j.value
WHERE i.tenant = :tenant AND instr(i.projection, :needle) > 0
ORDER BY j.key;
