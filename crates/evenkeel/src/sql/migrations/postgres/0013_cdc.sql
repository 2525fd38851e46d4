-- One row per source of change capture: how far its reader has come, and which process is the reader (owner NULL: none).
CREATE TABLE IF NOT EXISTS evenkeel_cdc_source (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    identity TEXT NULL,
    epoch BIGINT NULL,
    position TEXT NULL,
    anchor TEXT NULL,
    owner BYTEA NULL,
    fence BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    paused BIGINT NOT NULL,
    state TEXT NOT NULL,
    cause TEXT NULL,
    saved_at BIGINT NULL
);
-- Keys whose changes are skipped until an operator releases them.
CREATE TABLE IF NOT EXISTS evenkeel_cdc_parked (
    source TEXT COLLATE "C" NOT NULL,
    rule TEXT COLLATE "C" NOT NULL,
    row_key BYTEA NOT NULL,
    position TEXT NOT NULL,
    error TEXT NOT NULL,
    parked_at BIGINT NOT NULL,
    PRIMARY KEY (source, rule, row_key)
);
