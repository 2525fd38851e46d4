CREATE TABLE IF NOT EXISTS evenkeel_jobs (
    topic TEXT NOT NULL,
    job BLOB NOT NULL,
    version INTEGER NOT NULL,
    state INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    record BLOB NOT NULL,
    keep_ms INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    ended_as INTEGER NULL,
    forget_at INTEGER NULL,
    PRIMARY KEY (topic, job)
);

CREATE INDEX IF NOT EXISTS evenkeel_jobs_live ON evenkeel_jobs (topic, job) WHERE state = 1;

CREATE INDEX IF NOT EXISTS evenkeel_jobs_ended ON evenkeel_jobs (forget_at) WHERE state = 2;
