-- The failed attempts of a job, and its last error as the job's record stores it. A dead letter has `dead` 1 and died at `due_at`;
-- `redriven` 1: it was redriven since, and has not started.
ALTER TABLE evenkeel_jobs
    ADD COLUMN IF NOT EXISTS errors BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS failure BYTEA NULL,
    ADD COLUMN IF NOT EXISTS dead BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS redriven BIGINT NOT NULL DEFAULT 0;

CREATE INDEX IF NOT EXISTS evenkeel_jobs_due ON evenkeel_jobs (topic, dead, due_at, job) WHERE state = 1;
