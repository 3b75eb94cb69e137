-- Namespaces, where it is said differently here: other transactions may be under way.

-- name: namespace_hold
SELECT id FROM items WHERE tenant = :tenant AND namespace >= :low AND namespace < :high
ORDER BY namespace, key FOR UPDATE;
