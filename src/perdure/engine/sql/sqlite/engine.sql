-- name: quick_check
PRAGMA quick_check(1);
