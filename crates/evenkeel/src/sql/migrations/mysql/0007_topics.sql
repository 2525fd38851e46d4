-- One row per paused topic of a SQL queue: the time (ms of the store's clock) before which none of its jobs starts.
CREATE TABLE IF NOT EXISTS evenkeel_topics (
    topic VARBINARY(255) NOT NULL PRIMARY KEY,
    paused_until BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
) ENGINE = InnoDB;
