CREATE TABLE IF NOT EXISTS evenkeel_jobs (
    topic TEXT COLLATE "C" NOT NULL,
    job BYTEA NOT NULL,
    version BIGINT NOT NULL,
    state BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    record BYTEA NOT NULL,
    keep_ms BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    ended_as BIGINT NULL,
    forget_at BIGINT NULL,
    PRIMARY KEY (topic, job)
);

CREATE INDEX IF NOT EXISTS evenkeel_jobs_live ON evenkeel_jobs (topic, job) WHERE state = 1;

CREATE INDEX IF NOT EXISTS evenkeel_jobs_ended ON evenkeel_jobs (forget_at) WHERE state = 2;
