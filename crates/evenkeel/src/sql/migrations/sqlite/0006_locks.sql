-- One row per name of a row lock: who holds it (nobody: no owner), until when, and the last fence.
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
