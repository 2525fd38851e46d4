-- One row per source of change capture: how far its reader has come, and which process is the reader (owner NULL: none).
CREATE TABLE IF NOT EXISTS evenkeel_cdc_source (
    name VARBINARY(64) NOT NULL PRIMARY KEY,
    identity VARBINARY(255) NULL,
    epoch BIGINT NULL,
    position BLOB NULL,
    anchor VARBINARY(255) NULL,
    owner VARBINARY(16) NULL,
    fence BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    paused BIGINT NOT NULL,
    state VARBINARY(16) NOT NULL,
    cause VARBINARY(1024) NULL,
    saved_at BIGINT NULL
) ENGINE = InnoDB;
-- Keys whose changes are skipped until an operator releases them.
CREATE TABLE IF NOT EXISTS evenkeel_cdc_parked (
    source VARBINARY(64) NOT NULL,
    rule VARBINARY(64) NOT NULL,
    row_key VARBINARY(512) NOT NULL,
    position BLOB NOT NULL,
    error VARBINARY(1024) NOT NULL,
    parked_at BIGINT NOT NULL,
    PRIMARY KEY (source, rule, row_key)
) ENGINE = InnoDB;
