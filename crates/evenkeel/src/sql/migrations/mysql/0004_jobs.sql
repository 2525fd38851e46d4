CREATE TABLE IF NOT EXISTS evenkeel_jobs (
    topic VARBINARY(255) NOT NULL,
    job BINARY(16) NOT NULL,
    version BIGINT NOT NULL,
    state BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    record LONGBLOB NOT NULL,
    keep_ms BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    ended_as BIGINT NULL,
    forget_at BIGINT NULL,
    PRIMARY KEY (topic, job),
    KEY evenkeel_jobs_live (topic, state, job),
    KEY evenkeel_jobs_ended (state, forget_at)
) ENGINE = InnoDB;
