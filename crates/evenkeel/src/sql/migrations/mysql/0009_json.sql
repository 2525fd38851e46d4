-- Effects that programs in other languages insert with their own rows, as JSON; a relay moves them into `evenkeel_outbox`.
CREATE TABLE IF NOT EXISTS evenkeel_outbox_json (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    effects LONGTEXT CHARACTER SET utf8mb4 NOT NULL CHECK (JSON_VALID(effects)),
    created_at BIGINT NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)) CHECK (created_at >= 0),
    due_at BIGINT NOT NULL DEFAULT 0,
    error VARBINARY(1000) NULL
) ENGINE = InnoDB;
