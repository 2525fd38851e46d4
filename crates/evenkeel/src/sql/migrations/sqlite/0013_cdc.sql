-- One row per source of change capture: how far its reader has come, and which process is the reader (owner NULL: none).
CREATE TABLE IF NOT EXISTS evenkeel_cdc_source (
    name TEXT NOT NULL PRIMARY KEY,
    identity TEXT NULL,
    epoch INTEGER NULL,
    position TEXT NULL,
    anchor TEXT NULL,
    owner BLOB NULL,
    fence INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    state TEXT NOT NULL,
    cause TEXT NULL,
    saved_at INTEGER NULL
) STRICT;
-- Keys whose changes are skipped until an operator releases them.
CREATE TABLE IF NOT EXISTS evenkeel_cdc_parked (
    source TEXT NOT NULL,
    rule TEXT NOT NULL,
    row_key BLOB NOT NULL,
    position TEXT NOT NULL,
    error TEXT NOT NULL,
    parked_at INTEGER NOT NULL,
    PRIMARY KEY (source, rule, row_key)
) STRICT;
