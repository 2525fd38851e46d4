-- One row per name of a row lock: its owner (NULL: not held), the end of its lease, and the last fencing token.
CREATE TABLE IF NOT EXISTS evenkeel_locks (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    fence BIGINT NOT NULL,
    owner BYTEA NULL,
    ends_at BIGINT NOT NULL,
    lease_ms BIGINT NOT NULL,
    cooling_ms BIGINT NOT NULL,
    since_at BIGINT NOT NULL,
    limit_at BIGINT NOT NULL,
    words BYTEA NULL
);
