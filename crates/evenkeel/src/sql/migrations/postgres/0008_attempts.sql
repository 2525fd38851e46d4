-- What has gone wrong with a job so far: attempts that failed, and the last error as its record notes it. A dead letter has `dead` 1
-- and died at `due_at`; `redriven` 1: it was sent back since, and has not begun.
ALTER TABLE evenkeel_jobs
    ADD COLUMN IF NOT EXISTS errors BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS failure BYTEA NULL,
    ADD COLUMN IF NOT EXISTS dead BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS redriven BIGINT NOT NULL DEFAULT 0;

CREATE INDEX IF NOT EXISTS evenkeel_jobs_due ON evenkeel_jobs (topic, dead, due_at, job) WHERE state = 1;
