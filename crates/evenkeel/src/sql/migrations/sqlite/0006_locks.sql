-- One row per name of a row lock: its owner (NULL: not held), the end of its lease, and the last fencing token.
CREATE TABLE IF NOT EXISTS evenkeel_locks (
    name TEXT NOT NULL PRIMARY KEY,
    fence INTEGER NOT NULL,
    owner BLOB NULL,
    ends_at INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    cooling_ms INTEGER NOT NULL,
    since_at INTEGER NOT NULL,
    limit_at INTEGER NOT NULL,
    words BLOB NULL
) STRICT;
