-- One row per name of a row lock: who holds it (nobody: no owner), until when, and the last fence.
CREATE TABLE IF NOT EXISTS evenkeel_locks (
    name VARBINARY(512) NOT NULL PRIMARY KEY,
    fence BIGINT NOT NULL,
    owner VARBINARY(16) NULL,
    ends_at BIGINT NOT NULL,
    lease_ms BIGINT NOT NULL,
    cooling_ms BIGINT NOT NULL,
    since_at BIGINT NOT NULL,
    limit_at BIGINT NOT NULL,
    words VARBINARY(1024) NULL
) ENGINE = InnoDB;
