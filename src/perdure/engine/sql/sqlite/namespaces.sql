-- Namespaces, where it is said differently here: one transaction writes at a time, so there is nothing to hold.

-- name: namespace_hold
SELECT 1 WHERE false;
